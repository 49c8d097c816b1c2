import type { SessionId } from '@millrace/core';
import type { ViewName } from '../contract/stream.ts';
import type { Task, TaskStatus } from '../contract/task.ts';
import type { FeedRegistry } from './feed-registry.ts';
import { endFrameText } from './frames/control-frames.ts';
import type { SessionFeed } from './session-feed.ts';
import type { Viewer } from './viewer.ts';

/** Statuses of a finished task. */
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
  /**
   * `idle`: the stream ends when everything was sent and no run is active, whatever the task's
   * status is. The view `ui` always ends so.
   */
  readonly until?: 'idle' | undefined;
  /**
   * How long the stream of a finished task stays open. Default: 15 s for `updates`, whose clients
   * reconnect at once; 0 for other views.
   */
  readonly endDelayMs?: number | undefined;
}

/** Decides when a stream ends, and with which frame. */
export class EndCondition {
  readonly #options: EndConditionOptions;
  readonly #feed: SessionFeed;
  #stopTimer: (() => void) | undefined;
  #finalStatus: { readonly reason: string; readonly through: number } | undefined;
  /** Detects that the status changed while the log was read. */
  #statusVersion = 0;

  constructor(options: EndConditionOptions, feed: SessionFeed) {
    this.#options = options;
    this.#feed = feed;
  }

  /** True if the client waits for only one answer. */
  get endsWithRun(): boolean {
    return this.#options.until === 'idle' || this.#options.view === 'ui';
  }

  /** Ends the stream of a finished task after the delay, unless the task is resumed before. */
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

  /** Returns the last frame if the stream of an up-to-date viewer must end now. */
  endFrame(): Buffer | undefined {
    const reason = this.#reason();
    return reason === undefined ? undefined : Buffer.from(endFrameText(this.#options.view, reason));
  }

  /** Ends the stream after everything that is on the log now was sent. */
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
