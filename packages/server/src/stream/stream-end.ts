import type { SessionId } from '@millrace/core';
import type { ViewName } from '../contract/stream.ts';
import type { Task, TaskStatus } from '../contract/task.ts';
import type { Feeds } from './feed-registry.ts';
import { ending } from './frames/control-frames.ts';
import type { Feed } from './session-feed.ts';
import type { Viewer } from './viewer.ts';

/** What a task does not come back from by itself. */
const finalStatuses: ReadonlySet<TaskStatus | null> = new Set<TaskStatus>([
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'TERMINATED',
  'TIMED_OUT',
  'DELETED',
]);

const delaysMs: Readonly<Record<ViewName, number>> = {
  records: 0,
  events: 0,
  updates: 15_000,
  ui: 0,
};

export interface EndingOptions {
  readonly feeds: Feeds;
  readonly session: SessionId;
  readonly view: ViewName;
  /** `idle`: ends when all was told and no run goes on, whatever the task's status. So does `ui`, always. */
  readonly until?: 'idle' | undefined;
  /** How long the stream of a task that is over stays open; 15 s for `updates`, whose clients come back at once. */
  readonly endDelayMs?: number | undefined;
}

/** When one stream is to end, and with which words. */
export class Ending {
  readonly #options: EndingOptions;
  readonly #feed: Feed;
  #stopTimer: (() => void) | undefined;
  #final: { readonly reason: string; readonly through: number } | undefined;
  /** What is looked up for one status is not to be used for the next. */
  #changes = 0;

  constructor(options: EndingOptions, feed: Feed) {
    this.#options = options;
    this.#feed = feed;
  }

  /** Its clients wait for one answer, and no longer. */
  get endsWithRun(): boolean {
    return this.#options.until === 'idle' || this.#options.view === 'ui';
  }

  /** A task that is over ends the stream, unless it is taken up again in time. */
  setTask(task: Task | undefined, viewer: Viewer): void {
    this.stop();
    this.#final = undefined;
    const change = ++this.#changes;
    if (task === undefined || !finalStatuses.has(task.status)) return;
    const { feeds, view, endDelayMs = delaysMs[view] } = this.#options;
    const reason = (task.status ?? 'over').toLowerCase();
    const end = () => void this.#endAt(reason, change, viewer);
    if (endDelayMs === 0) end();
    else this.#stopTimer = feeds.clock.after(endDelayMs, end, { isIdle: true });
  }

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** What to say, if it is due for one who was told all. */
  words(): Buffer | undefined {
    const reason = this.#reason();
    return reason === undefined ? undefined : Buffer.from(ending(this.#options.view, reason));
  }

  /** All that the log has by now is told first. */
  async #endAt(reason: string, change: number, viewer: Viewer): Promise<void> {
    const { feeds, session } = this.#options;
    const info = await feeds.log.info(session).catch(() => undefined);
    if (change !== this.#changes) return;
    this.#final = { reason, through: info?.through ?? 0 };
    viewer.watchForEnd(true);
    viewer.look();
  }

  #reason(): string | undefined {
    const { end, history } = this.#feed;
    if (end !== undefined) return end;
    const final = this.#final;
    if (final !== undefined && history.state.through >= final.through) return final.reason;
    const isIdle = this.endsWithRun && history.state.run === undefined;
    return isIdle ? 'idle' : undefined;
  }
}
