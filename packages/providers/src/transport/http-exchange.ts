import type { TraceContext } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { Clock } from './clock.ts';
import { Deadlines, type TimeoutOptions } from './deadlines.ts';
import { Interrupted, type Interruption, toTransportFailure } from './failures.ts';
import { checkResponse, checkUrl, type HttpRequest, requestInit } from './http-request.ts';
import { ReaderTurns } from './reader-turns.ts';

interface HttpExchangeOptions {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly timeouts: TimeoutOptions;
  readonly signal: AbortSignal | undefined;
  /**
   * The trace, which is sent as headers. It contains no secret. It is not part of the request that the
   * provider builds.
   */
  readonly trace?: TraceContext | undefined;
  /**
   * Called immediately when the exchange is interrupted. The reader may notice the interruption only much
   * later.
   */
  readonly onInterrupted?: (() => void) | undefined;
}

/** The body of a response, which is read chunk by chunk. */
export type ResponseBody = Pick<HttpExchange, 'read' | 'recordContent' | 'drainFor' | 'close'>;

/** One HTTP request and its response, which is read chunk by chunk. It handles aborts and timeouts. */
export class HttpExchange {
  readonly #options: HttpExchangeOptions;
  readonly #controller = new AbortController();
  readonly #interrupted: Promise<never>;
  readonly #deadlines: Deadlines;
  #rejectInterrupted: (error: Interrupted) => void = () => {};
  #interruption: Interruption | undefined;
  #body: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #turns = new ReaderTurns();
  /**
   * The remaining time to wait for trailing data, in milliseconds. Undefined until the answer is complete.
   * After that, any end of the body is a normal end.
   */
  #drainMs: number | undefined;

  constructor(options: HttpExchangeOptions) {
    this.#options = options;
    this.#interrupted = new Promise<never>((_, reject) => {
      this.#rejectInterrupted = reject;
    });
    this.#interrupted.catch(() => {});
    this.#deadlines = new Deadlines(options.clock, options.timeouts, (deadline, afterMs) =>
      this.#interrupt({ by: 'deadline', deadline, afterMs }),
    );
    options.signal?.addEventListener('abort', this.#onAbort);
    if (options.signal?.aborted) this.#onAbort();
  }

  /**
   * Sends the request. Throws `Interrupted`, `NetworkFailure`, or a `WireFault` if the request
   * cannot be sent.
   */
  async open(request: HttpRequest): Promise<Response> {
    this.#throwIfInterrupted();
    checkUrl(request.url);
    const init = requestInit(request, this.#controller.signal, this.#options.trace);
    const fetching = this.#fetch(request.url, init);
    try {
      const response = await Promise.race([fetching, this.#interrupted]);
      // An interruption can occur between the response and this line.
      this.#throwIfInterrupted();
      checkResponse(response);
      this.#body = response.body?.getReader();
      return response;
    } catch (error) {
      // A fetch that ignores the signal may still return a response. Its body must be closed.
      fetching.then((late) => late?.body?.cancel?.()).catch(() => {});
      throw this.#failure(error);
    }
  }

  /**
   * Waits for a promise before the request is sent, for example for a token. Throws `Interrupted` if it takes
   * too long.
   */
  async wait<T>(promise: Promise<T>): Promise<T> {
    const value = await Promise.race([promise, this.#interrupted]);
    this.#throwIfInterrupted();
    return value;
  }

  /** Returns the next bytes, or undefined at the end. Throws `Interrupted` or `NetworkFailure`. */
  async read(): Promise<Uint8Array | undefined> {
    this.#deadlines.resume();
    const stopWaiting = this.#waitAtMost(this.#drainMs);
    try {
      const result = await this.#body?.read();
      if (this.#drainMs === undefined) this.#throwIfInterrupted();
      this.#deadlines.recordActivity();
      const bytes = result?.done ? undefined : checkBytes(result?.value);
      // The caller handles all bytes of a read at once.
      const turn = this.#turns.count(1, bytes?.length);
      if (turn !== undefined) await turn;
      if (!result?.done) return bytes;
      this.#body = undefined;
      return undefined;
    } catch (error) {
      this.#deadlines.pause();
      this.#cancelBody();
      this.#body = undefined;
      if (this.#drainMs !== undefined) return undefined;
      throw this.#failure(error);
    } finally {
      stopWaiting();
    }
  }

  /** Must be called after a read that contained content. It restarts the silence timeout. */
  recordContent(): void {
    this.#deadlines.recordContent();
  }

  /**
   * Must be called when the answer is complete. After that, trailing data may be read for at most this time.
   */
  drainFor(ms: number): void {
    this.#drainMs = ms;
  }

  /** Releases all resources. Closes the connection if the body was not read to its end. */
  close(): void {
    this.#deadlines.end();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    if (this.#body === undefined) return;
    this.#cancelBody();
    this.#controller.abort();
  }

  readonly #onAbort = (): void => {
    this.#interrupt({ by: 'signal', reason: this.#options.signal?.reason });
  };

  #interrupt(interruption: Interruption): void {
    if (this.#interruption !== undefined) return;
    this.#interruption = interruption;
    this.#deadlines.end();
    this.#rejectInterrupted(new Interrupted(interruption));
    this.#controller.abort();
    this.#cancelBody();
    this.#options.onInterrupted?.();
  }

  #throwIfInterrupted(): void {
    if (this.#interruption !== undefined) throw new Interrupted(this.#interruption);
  }

  /** Calls fetch. The method is async, so a synchronous throw of fetch becomes a rejection. */
  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { fetch } = this.#options;
    if (typeof fetch !== 'function') throw fault('invalid_request', 'fetch is not a function');
    return fetch(url, init);
  }

  /**
   * Limits the time of a read. Returns a function that removes the limit. Only the time during reads counts,
   * because data that arrives while the consumer is busy must not be lost.
   */
  #waitAtMost(ms: number | undefined): () => void {
    if (ms === undefined) return () => {};
    const { clock } = this.#options;
    const startMs = clock.now();
    if (ms <= 0) this.#cancelBody();
    const cancel = clock.after(ms, () => this.#cancelBody());
    return () => {
      cancel();
      this.#drainMs = ms - (clock.now() - startMs);
    };
  }

  /** Ends the pending read, even if fetch ignores the signal. */
  #cancelBody(): void {
    this.#body?.cancel().catch(() => {});
  }

  #failure(error: unknown): Error {
    if (error instanceof Interrupted) return error;
    return this.#interruption === undefined
      ? toTransportFailure(error)
      : new Interrupted(this.#interruption);
  }
}

/**
 * Returns the value if it is bytes, and throws otherwise. The body of a custom fetch can contain any values.
 */
function checkBytes(value: Uint8Array | undefined): Uint8Array | undefined {
  if (value === undefined || ArrayBuffer.isView(value)) return value;
  throw fault(
    'invalid_request',
    'the body of the Response from fetch contains a value that is not bytes',
  );
}

/** Reads the rest of the body as text, up to `maxBytes`. `isCut` is true if the body was longer. */
export async function readText(
  exchange: HttpExchange,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for (;;) {
    const bytes = await exchange.read();
    if (bytes === undefined) return { text: text + decoder.decode(), isCut: false };
    length += bytes.length;
    text += decoder.decode(bytes, { stream: true });
    if (length > maxBytes) return { text, isCut: true };
  }
}
