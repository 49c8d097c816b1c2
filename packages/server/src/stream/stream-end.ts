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

/** The interval of the check whether a driver still works on a run of a finished task, in milliseconds. */
const recheckMs = 500;

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
   * With `idle`, the stream ends when the client has received everything and no run is active. The task's
   * status does not matter. Streams of the view `ui` always end in this way. Default: the stream ends when
   * the task is finished.
   */
  readonly until?: 'idle' | undefined;
  /**
   * The time for which the stream of a finished task stays open, in milliseconds. Default: 15,000 for
   * `updates`, whose clients reconnect immediately, and 0 for all other views.
   */
  readonly endDelayMs?: number | undefined;
}

/** The final status of the task, and the last offset of its log when the status was set. */
interface FinalStatus {
  readonly reason: string;
  readonly through: number;
}

/** Decides when a stream ends, and creates its last frame. */
export class EndCondition {
  readonly #options: EndConditionOptions;
  readonly #feed: SessionFeed;
  #stopTimer: (() => void) | undefined;
  #finalStatus: FinalStatus | undefined;
  /** The number of status changes. It detects a change that happened while the log was being read. */
  #statusVersion = 0;

  constructor(options: EndConditionOptions, feed: SessionFeed) {
    this.#options = options;
    this.#feed = feed;
  }

  /** True if the client waits only for the current answer. */
  get endsWithRun(): boolean {
    return this.#options.until === 'idle' || this.#options.view === 'ui';
  }

  /**
   * Sets the task. If the task is finished, the stream ends after the delay, unless the task resumes during
   * the delay.
   */
  setTask(task: Task | undefined, viewer: Viewer): void {
    this.stop();
    this.#finalStatus = undefined;
    const version = ++this.#statusVersion;
    if (task === undefined || !finalStatuses.has(task.status)) return;
    const { view, endDelayMs = delaysMs[view] } = this.#options;
    const reason = (task.status ?? 'over').toLowerCase();
    const end = () => void this.#endAt(reason, version, viewer);
    if (endDelayMs === 0) end();
    else this.#schedule(endDelayMs, end);
  }

  #schedule(ms: number, run: () => void): void {
    this.#stopTimer = this.#options.feeds.clock.after(ms, run, { isIdle: true });
  }

  stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /**
   * Returns the last frame if the stream must end now. Otherwise it returns undefined. Call it only for a
   * viewer that has caught up.
   */
  endFrame(): Buffer | undefined {
    const reason = this.#reason();
    if (reason === undefined) return undefined;
    // If the state still has a run here, no driver works on that run. The client does not need to wait for
    // its end.
    const isRunLeft = this.#feed.history.state.run !== undefined;
    return Buffer.from(endFrameText(this.#options.view, reason, isRunLeft));
  }

  /**
   * Ends the stream when the client has received all records that are on the log now. While a driver works on
   * a run, the stream stays open, even if the task has a final status.
   */
  async #endAt(reason: string, version: number, viewer: Viewer): Promise<void> {
    const { feeds, session } = this.#options;
    const info = await feeds.log.info(session).catch(() => undefined);
    if (version !== this.#statusVersion) return;
    const isDriven = (info?.lease?.expiresAt ?? 0) > feeds.clock.now();
    if (isDriven && info?.hasWork)
      return this.#schedule(recheckMs, () => void this.#endAt(reason, version, viewer));
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
