import type { EventSourceMessage } from 'eventsource-parser';
import type { ClientError } from '../client-error.ts';
import type { Http } from '../http/http.ts';
import { refusalOf } from '../http/refusal.ts';
import { readSse } from './read-sse.ts';
import { SilenceWatch } from './silence-watch.ts';
import { gapAt, lost, moved, noStream, silent } from './stream-errors.ts';
import { readEvent } from './stream-event.ts';
import type { StreamTarget } from './stream-target.ts';
import type { WakeUp } from './wake-ups.ts';

export interface StreamTryOptions {
  readonly http: Http;
  readonly taskId: string;
  readonly target: StreamTarget;
  readonly signal: AbortSignal;
  /** Silence for so long is death. */
  readonly limitMs: number;
  readonly onLive: () => void;
  readonly onRetry: (ms: number) => void;
  /** Something new came, or a sign of life. */
  readonly onProgress: () => void;
}

/** One connection, from the request to its end. */
export class StreamTry {
  readonly #options: StreamTryOptions;
  readonly #given = new AbortController();
  readonly #silence: SilenceWatch;
  #wasOffline = false;
  #end: string | undefined;

  constructor(options: StreamTryOptions) {
    this.#options = options;
    const { clock } = options.http.options;
    this.#silence = new SilenceWatch(clock, options.limitMs, () => this.#giveUp(silent()));
  }

  /** The server's word for the end; undefined where it broke off. Throws what went wrong. */
  async read(): Promise<string | undefined> {
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

  /** True where it is given up because of that. */
  onWakeUp(what: WakeUp): boolean {
    if (what === 'offline') this.#wasOffline = true;
    else if (what === 'online' && this.#wasOffline) this.#giveUp(moved());
    else this.#silence.check();
    return this.#given.signal.aborted;
  }

  #giveUp(why: ClientError): void {
    this.#given.abort(why);
  }

  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const { http, taskId, target, onLive } = this.#options;
    const what = `follow task ${taskId}`;
    const path = `/tasks/${encodeURIComponent(taskId)}/stream`;
    // Who has nothing yet does not say so: then what is over comes as what came of it.
    const from = target.through === 0 ? undefined : target.through;
    const query = { view: 'records', from };
    const response = await http.send({ what, path, query, signal, isSafe: true });
    if (!response.ok) throw await refusalOf(response, what);
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
    if (!isStream || response.body === null) {
      await response.body?.cancel().catch(() => {});
      throw noStream(taskId);
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
      onHeard: (isComment) => {
        this.#silence.heard();
        if (isComment) onProgress();
      },
      onPause: async () => {
        await target.flush();
        return this.#end === undefined;
      },
    });
  }

  #onMessage(message: EventSourceMessage): void {
    const { target, taskId, onProgress, signal } = this.#options;
    if (signal.aborted || this.#end !== undefined) return;
    const event = readEvent(message);
    switch (event.type) {
      case 'batch':
        if (target.add(event.batch) === 'gap') throw gapAt(taskId, target.through);
        return onProgress();
      case 'task':
        return target.setTask(event.task);
      case 'end':
        this.#end = event.reason;
        return;
      case 'unknown':
        return;
    }
  }
}
