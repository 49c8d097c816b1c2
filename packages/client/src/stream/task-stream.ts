import { ClientError } from '../contract/client-error.ts';
import type { Connection } from '../contract/task-handle.ts';
import type { Http } from '../http/http.ts';
import { backOffMs, wait } from '../http/timing.ts';
import { StreamAttempt } from './stream-attempt.ts';
import {
  endedEarly,
  isEarly,
  isFinal,
  lost,
  type StreamEnd,
  type StreamTarget,
} from './stream-event.ts';
import type { WakeUp, WakeUps } from './wake-ups.ts';

export interface TaskStreamOptions {
  readonly http: Http;
  readonly taskId: string;
  /** The path of the task's routes. */
  readonly path: string;
  readonly target: StreamTarget;
  /** The interval of the server's heartbeats, in milliseconds. */
  readonly heartbeatMs: number;
  readonly wakeUps: WakeUps;
}

/** After this many heartbeat intervals without data, the connection counts as broken. */
const heartbeatsToDie = 2.5;
/**
 * Maximum number of consecutive attempts with unusable data. Before the last attempt, the target is reset.
 */
const maxUnfit = 3;
/**
 * Maximum number of consecutive ends that contradict the log, without a new record between them. With the
 * default delays, this takes more than half a minute. During this time, a different server can take over the
 * run.
 */
const maxEarlyEnds = 8;

/** A server can ask for shorter delays, or for none. Many clients would then keep it busy. */
const minRetryMs = 250;

/**
 * Keeps a target up to date with a task. It connects, resumes at the target's offset, and stops at errors
 * that a reconnect cannot resolve.
 */
export class TaskStream {
  readonly #options: TaskStreamOptions;
  readonly #stopped = new AbortController();
  #try: StreamAttempt | undefined;
  #wake: () => void = () => {};
  /** True if the client must skip the next delay, because the network is available again. */
  #isHasty = false;
  #retryMs: number | undefined;
  /** The number of consecutive failures without a new record. */
  #failures = 0;
  #unfit = 0;
  #earlyEnds = 0;

  constructor(options: TaskStreamOptions) {
    this.#options = options;
  }

  /** Starts to connect. It calls no listener before this method returns. */
  start(): void {
    const stopListening = this.#options.wakeUps((what) => this.#onWakeUp(what));
    const begun = Promise.resolve().then(() => this.#run(this.#stopped.signal));
    void begun.finally(stopListening);
  }

  /** Stops the stream. After this call, it calls no listener. */
  stop(): void {
    this.#stopped.abort(new ClientError('closed', 'The stream was closed'));
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const outcome = this.#believed(await this.#tryOnce(signal));
      if (signal.aborted) return;
      if ('isRunLive' in outcome) return this.#tell({ state: 'ended', reason: outcome.reason });
      if (outcome.code === 'rewound' && this.#options.target.through > 0) {
        // After the reset, the client has no cursor. The server therefore cannot refuse the next request for
        // the same reason.
        this.#options.target.reset(outcome);
        continue;
      }
      const isHopeless = isFinal(outcome) || this.#unfit >= maxUnfit;
      if (isHopeless) return this.#tell({ state: 'failed', error: outcome });
      if (this.#unfit === maxUnfit - 1) this.#options.target.reset();
      await this.#pause(outcome, signal);
    }
  }

  /**
   * Returns the outcome of a connection. If the end contradicts the log, it returns an error, and the client
   * then connects again.
   */
  #believed(outcome: StreamEnd | ClientError): StreamEnd | ClientError {
    const { target, taskId } = this.#options;
    if (!('isRunLive' in outcome) || !isEarly(outcome, target)) return outcome;
    return ++this.#earlyEnds < maxEarlyEnds ? endedEarly(taskId, outcome.reason) : outcome;
  }

  /** Runs one connection. Returns the end event of the server, or an error. */
  async #tryOnce(signal: AbortSignal): Promise<StreamEnd | ClientError> {
    const { http, taskId, path, target, heartbeatMs } = this.#options;
    const { through } = target;
    this.#tell({ state: 'connecting', failures: this.#failures });
    this.#try = new StreamAttempt({
      ...{ http, taskId, path, target, signal, limitMs: heartbeatsToDie * heartbeatMs },
      onLive: () => this.#tell({ state: 'live' }),
      onRetry: (ms) => {
        this.#retryMs = Math.max(ms, minRetryMs);
      },
      onProgress: () => {
        if (this.#earlyEnds === 0) this.#failures = 0;
        if (target.through > through) this.#earlyEnds = 0;
        this.#unfit = 0;
      },
    });
    try {
      return (await this.#try.read()) ?? lost();
    } catch (error) {
      return this.#understood(error);
    } finally {
      this.#try = undefined;
    }
  }

  #understood(error: unknown): ClientError {
    if (error instanceof ClientError) {
      if (error.code === 'bad_answer') this.#unfit++;
      return error;
    }
    this.#unfit = maxUnfit;
    const message = 'Cannot follow the task: the client could not process the data of the stream';
    return new ClientError('bad_answer', message, {}, { cause: error });
  }

  async #pause(error: ClientError, signal: AbortSignal): Promise<void> {
    const { clock, random, backOff } = this.#options.http.options;
    const failures = ++this.#failures;
    const isHasty = this.#isHasty;
    this.#isHasty = false;
    if (isHasty) return;
    const own = { ...backOff, baseMs: Math.min(this.#retryMs ?? backOff.baseMs, backOff.maxMs) };
    const ms = Math.max(error.retryAfterMs ?? 0, backOffMs(failures, own, random));
    this.#tell({ state: 'retrying', failures, nextTryAt: clock.now() + ms, error });
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    // If the signal is aborted, the loop checks it in its next step.
    await wait(clock, ms, { signal, woken }).catch(() => {});
  }

  #onWakeUp(what: WakeUp): void {
    if (this.#try?.onWakeUp(what)) this.#isHasty = what !== 'offline';
    if (what !== 'offline') this.#wake();
  }

  #tell(connection: Connection): void {
    if (this.#stopped.signal.aborted) return;
    const { target } = this.#options;
    target.setConnection(connection);
    void target.flush();
  }
}
