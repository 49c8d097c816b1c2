import type { ClientError } from '../contract/client-error.ts';
import type { Http } from '../http/http.ts';
import { errorOf } from '../http/refusal.ts';
import type { Clock } from '../http/timing.ts';
import { readSse, type SseMessage } from './read-sse.ts';
import {
  gapAt,
  incarnationIn,
  lost,
  networkChanged,
  notAStream,
  readEvent,
  type StreamEnd,
  type StreamTarget,
  silent,
} from './stream-event.ts';
import type { WakeUp } from './wake-ups.ts';

interface StreamAttemptOptions {
  readonly http: Http;
  readonly taskId: string;
  /** The path of the task's routes. */
  readonly path: string;
  readonly target: StreamTarget;
  readonly signal: AbortSignal;
  /** The time without data after which the connection counts as broken, in milliseconds. */
  readonly limitMs: number;
  readonly onLive: () => void;
  readonly onRetry: (ms: number) => void;
  /** Called when a new record or a heartbeat arrives. */
  readonly onProgress: () => void;
}

/** One connection, from the request to its end. */
export class StreamAttempt {
  readonly #options: StreamAttemptOptions;
  readonly #given = new AbortController();
  readonly #silence: SilenceWatch;
  #wasOffline = false;
  #end: StreamEnd | undefined;

  constructor(options: StreamAttemptOptions) {
    this.#options = options;
    const { clock } = options.http.options;
    this.#silence = new SilenceWatch(clock, options.limitMs, () => this.#giveUp(silent()));
  }

  /**
   * Reads the stream. Returns the end event of the server, or undefined if the stream ended without one.
   * Throws the error of the connection.
   */
  async read(): Promise<StreamEnd | undefined> {
    const { signal: outer } = this.#options;
    const signal = AbortSignal.any([outer, this.#given.signal]);
    try {
      await this.#readBody(await this.#open(signal), signal);
      if (signal.aborted) throw signal.reason;
      return this.#end;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#silence.stop();
    }
  }

  /** Handles an event of the network or the page. Returns true if the event closes this connection. */
  onWakeUp(what: WakeUp): boolean {
    if (what === 'offline') this.#wasOffline = true;
    else if (what === 'online' && this.#wasOffline) this.#giveUp(networkChanged());
    else this.#silence.check();
    return this.#given.signal.aborted;
  }

  #giveUp(why: ClientError): void {
    this.#given.abort(why);
  }

  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const { http, taskId, target, onLive } = this.#options;
    const what = `follow task ${taskId}`;
    const path = `${this.#options.path}/stream`;
    // A client without records sends no offset. The server then sends each finished turn as a snapshot.
    const { through, incarnation } = target;
    const cursor = incarnation === undefined ? through : `${through}-${incarnation}`;
    const start = through === 0 && target.start === 'recent' ? 'recent' : undefined;
    const query = { view: 'records', from: through === 0 ? undefined : cursor, start };
    const response = await http.send({ what, path, query, signal, isSafe: true });
    if (!response.ok) throw await errorOf(response, what);
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
    if (!isStream || response.body === null) {
      await response.body?.cancel().catch(() => {});
      throw notAStream(taskId);
    }
    this.#silence.heard();
    target.expect(Number(response.headers.get('millrace-through') ?? 0));
    onLive();
    return response.body;
  }

  async #readBody(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
    const { target, onRetry, onProgress } = this.#options;
    await readSse(body, {
      signal,
      toLost: lost,
      onMessage: (message) => this.#onMessage(message),
      onRetry,
      onData: (isComment) => {
        this.#silence.heard();
        if (isComment) onProgress();
      },
      onPause: async () => {
        await target.flush();
        return this.#end === undefined;
      },
    });
  }

  #noteIncarnation({ id }: SseMessage): void {
    const incarnation = incarnationIn(id);
    if (incarnation !== undefined) this.#options.target.setIncarnation(incarnation);
  }

  #onMessage(message: SseMessage): void {
    const { target, taskId, onProgress, signal } = this.#options;
    if (signal.aborted || this.#end !== undefined) return;
    const event = readEvent(message);
    switch (event.type) {
      case 'batch':
        if (target.add(event.batch) === 'gap') throw gapAt(taskId, target.through);
        if (target.incarnation === undefined) this.#noteIncarnation(message);
        return onProgress();
      case 'task':
        return target.setTask(event.task);
      case 'end':
        this.#end = event;
        return;
      case 'unknown':
        return;
    }
  }
}

/**
 * Detects that no data arrived for too long. It uses a single timer, which does not restart with each piece
 * of data.
 */
class SilenceWatch {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onSilent: () => void;
  #heardAt: number;
  #stopTimer: () => void;

  constructor(clock: Clock, limitMs: number, onSilent: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onSilent = onSilent;
    this.#heardAt = clock.now();
    this.#stopTimer = clock.after(limitMs, () => this.check());
  }

  heard(): void {
    this.#heardAt = this.#clock.now();
  }

  /**
   * Checks whether no data arrived for too long. It can also be called directly, because timers do not run
   * while a page is frozen.
   */
  check(): void {
    this.#stopTimer();
    const silentMs = this.#clock.now() - this.#heardAt;
    if (silentMs >= this.#limitMs) return this.#onSilent();
    // If the system clock was set back, `Math.min` limits the delay of the check to one period.
    const leftMs = Math.min(this.#limitMs, this.#limitMs - silentMs);
    this.#stopTimer = this.#clock.after(leftMs, () => this.check());
  }

  stop(): void {
    this.#stopTimer();
  }
}
