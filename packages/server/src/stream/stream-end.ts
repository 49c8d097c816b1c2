import type { SessionId } from '@millrace/core';
import type { ViewName } from '../contract/stream.ts';
import type { Task, TaskStatus } from '../contract/task.ts';
import type { FeedRegistry } from './feed-registry.ts';
import { endFrameText } from './frames/control-frames.ts';
import type { SessionFeed } from './session-feed.ts';
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

export interface EndConditionOptions {
  readonly feeds: FeedRegistry;
  readonly session: SessionId;
  readonly view: ViewName;
  /** `idle`: ends when all was told and no run goes on, whatever the task's status. So does `ui`, always. */
  readonly until?: 'idle' | undefined;
  /** How long the stream of a task that is over stays open; 15 s for `updates`, whose clients come back at once. */
  readonly endDelayMs?: number | undefined;
}

/** When one stream is to end, and with which words. */
export class EndCondition {
  readonly #options: EndConditionOptions;
  readonly #feed: SessionFeed;
  #stopTimer: (() => void) | undefined;
  #finalStatus: { readonly reason: string; readonly through: number } | undefined;
  /** What is looked up for one status is not to be used for the next. */
  #statusVersion = 0;

  constructor(options: EndConditionOptions, feed: SessionFeed) {
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
    this.#finalStatus = undefined;
    const version = ++this.#statusVersion;
    if (task === undefined || !finalStatuses.has(task.status)) return;
    const { feeds, view, endDelayMs = delaysMs[view] } = this.#options;
    const reason = (task.status ?? 'over').toLowerCase();
    const end = () => void this.#endAt(reason, version, viewer);
    if (endDelayMs === 0) end();
    else this.#stopTimer = feeds.clock.after(endDelayMs, end, { isIdle: true });
  }

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** What to say, if it is due for one who was told all. */
  endFrame(): Buffer | undefined {
    const reason = this.#reason();
    return reason === undefined ? undefined : Buffer.from(endFrameText(this.#options.view, reason));
  }

  /** All that the log has by now is told first. */
  async #endAt(reason: string, version: number, viewer: Viewer): Promise<void> {
    const { feeds, session } = this.#options;
    const info = await feeds.log.info(session).catch(() => undefined);
    if (version !== this.#statusVersion) return;
    this.#finalStatus = { reason, through: info?.through ?? 0 };
    viewer.watchForEnd(true);
    viewer.resume();
  }

  #reason(): string | undefined {
    const { end, history } = this.#feed;
    if (end !== undefined) return end;
    const finalStatus = this.#finalStatus;
    if (finalStatus !== undefined && history.state.through >= finalStatus.through)
      return finalStatus.reason;
    const isIdle = this.endsWithRun && history.state.run === undefined;
    return isIdle ? 'idle' : undefined;
  }
}
