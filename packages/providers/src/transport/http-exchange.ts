import type { TraceContext } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { Clock } from './clock.ts';
import { Deadlines, type TimeoutOptions } from './deadlines.ts';
import { Interrupted, type Interruption, toTransportFailure } from './failures.ts';
import { checkResponse, checkUrl, type HttpRequest, requestInit } from './http-request.ts';

interface HttpExchangeOptions {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly timeouts: TimeoutOptions;
  readonly signal: AbortSignal | undefined;
  /** Sent as headers, and no part of the request that a wire makes: no secret, and nothing of the model's. */
  readonly trace?: TraceContext | undefined;
  /** Called when it is stopped from outside, at once: whoever reads may be busy for long. */
  readonly onInterrupted?: (() => void) | undefined;
}

/** One request and its response, read by read, and everything that can stop it. */
export class HttpExchange {
  readonly #options: HttpExchangeOptions;
  readonly #controller = new AbortController();
  readonly #interrupted: Promise<never>;
  readonly #deadlines: Deadlines;
  #rejectInterrupted: (error: Interrupted) => void = () => {};
  #interruption: Interruption | undefined;
  #body: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** How much longer an afterthought is waited for. From then on, whatever ends the body is its end. */
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

  /** Sends the request. Throws `Interrupted`, `NetworkFailure`, or a fault for what cannot be sent. */
  async open(request: HttpRequest): Promise<Response> {
    this.#throwIfInterrupted();
    checkUrl(request.url);
    const init = requestInit(request, this.#controller.signal, this.#options.trace);
    const fetching = this.#fetch(request.url, init);
    try {
      const response = await Promise.race([fetching, this.#interrupted]);
      // It may have been stopped after the answer came and before this was told of it.
      this.#throwIfInterrupted();
      checkResponse(response);
      this.#body = response.body?.getReader();
      return response;
    } catch (error) {
      // A fetch that does not mind the signal may still answer.
      fetching.then((late) => late?.body?.cancel?.()).catch(() => {});
      throw this.#failure(error);
    }
  }

  /** What came next; undefined at the end. Throws `Interrupted` or `NetworkFailure`. */
  async read(): Promise<Uint8Array | undefined> {
    this.#deadlines.resume();
    const stopWaiting = this.#waitAtMost(this.#drainMs);
    try {
      const result = await this.#body?.read();
      if (this.#drainMs === undefined) this.#throwIfInterrupted();
      this.#deadlines.recordActivity();
      if (!result?.done) return checkBytes(result?.value);
      this.#body = undefined;
      return undefined;
    } catch (error) {
      this.#cancelBody();
      this.#body = undefined;
      if (this.#drainMs !== undefined) return undefined;
      throw this.#failure(error);
    } finally {
      this.#deadlines.pause();
      stopWaiting();
    }
  }

  /** Nothing but an afterthought can come: reads on for so long at most. */
  drainFor(ms: number): void {
    this.#drainMs = ms;
  }

  /** Lets go of everything; the connection is closed unless the body was read to its end. */
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

  /** Async, so that a fetch that throws at once is one that fails. */
  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { fetch } = this.#options;
    if (typeof fetch !== 'function') throw fault('invalid_request', 'fetch is no function');
    return fetch(url, init);
  }

  /** Only the time of reads counts: what came while nobody read must not be lost. */
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

  /** Ends a read that is going on, also where fetch does not mind the signal. */
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

/** A body that a program made may have anything in it. */
function checkBytes(value: Uint8Array | undefined): Uint8Array | undefined {
  if (value === undefined || ArrayBuffer.isView(value)) return value;
  throw fault('invalid_request', 'the body that fetch gave has something in it that is no bytes');
}

/** The rest of the body as text, up to a number of bytes; `isCut` says that there was more. */
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
