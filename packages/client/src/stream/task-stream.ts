import { ClientError } from '../client-error.ts';
import { backOffMs } from '../http/back-off.ts';
import type { Http } from '../http/http.ts';
import { wait } from '../http/wait.ts';
import type { Connection } from './connection.ts';
import { isFinal, lost } from './stream-errors.ts';
import type { StreamTarget } from './stream-target.ts';
import { StreamTry } from './stream-try.ts';
import type { WakeUp, WakeUps } from './wake-ups.ts';

export interface TaskStreamOptions {
  readonly http: Http;
  readonly taskId: string;
  readonly target: StreamTarget;
  /** How often the server gives a sign of life. */
  readonly heartbeatMs: number;
  readonly wakeUps: WakeUps;
}

/** Silence of so many heartbeats is death. */
const heartbeatsToDie = 2.5;
/** So many tries in a row that bring what cannot be used, and it is given up; before the last it begins anew. */
const maxUnfit = 3;

/** Keeps a target in step with a task: connects, resumes from where it is, and gives up when it must. */
export class TaskStream {
  readonly #options: TaskStreamOptions;
  readonly #stopped = new AbortController();
  #try: StreamTry | undefined;
  #wake: () => void = () => {};
  /** There is good news: the next pause is left out. */
  #isHasty = false;
  #retryMs: number | undefined;
  /** In a row, without anything new in between. */
  #failures = 0;
  #unfit = 0;

  constructor(options: TaskStreamOptions) {
    this.#options = options;
  }

  /** Nothing is told before this returns. */
  start(): void {
    const stopListening = this.#options.wakeUps((what) => this.#onWakeUp(what));
    const begun = Promise.resolve().then(() => this.#run(this.#stopped.signal));
    void begun.finally(stopListening);
  }

  /** Nothing is told from now on. */
  stop(): void {
    this.#stopped.abort(new ClientError('closed', 'The stream was closed'));
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const outcome = await this.#tryOnce(signal);
      if (signal.aborted) return;
      if (typeof outcome === 'string') return this.#tell({ state: 'ended', reason: outcome });
      const isHopeless = isFinal(outcome) || this.#unfit >= maxUnfit;
      if (isHopeless) return this.#tell({ state: 'failed', error: outcome });
      if (this.#unfit === maxUnfit - 1) this.#options.target.reset();
      await this.#pause(outcome, signal);
    }
  }

  /** Why it is over: the server's word for it, or what went wrong. */
  async #tryOnce(signal: AbortSignal): Promise<string | ClientError> {
    const { http, taskId, target, heartbeatMs } = this.#options;
    this.#tell({ state: 'connecting', failures: this.#failures });
    this.#try = new StreamTry({
      ...{ http, taskId, target, signal, limitMs: heartbeatsToDie * heartbeatMs },
      onLive: () => this.#tell({ state: 'live' }),
      onRetry: (ms) => {
        this.#retryMs = ms;
      },
      onProgress: () => {
        this.#failures = 0;
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
    const message = 'Cannot follow the task: what was told could not be taken in';
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
    // Who was stopped looks at the signal next.
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
