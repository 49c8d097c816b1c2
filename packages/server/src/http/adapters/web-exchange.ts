import { EventEmitter } from 'node:events';
import { ByteCollector } from '@millrace/core';
import type { HttpRequest, HttpResponse, OnBytes } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';
import { bodyTooLarge } from '../error-reply.ts';
import { asBuffer } from './node-request.ts';

/**
 * Converts a `Request` of the Fetch API to the common form for all adapters. The client's address is unknown,
 * because `fetch` has no connection.
 */
export function fromWebRequest(source: Request, basePath: string): HttpRequest {
  const { method, body } = source;
  const { pathname, search, host } = new URL(source.url);
  const headers: Record<string, string> = {};
  let headBytes = pathname.length + search.length;
  let headFields = 0;
  for (const [name, value] of source.headers) {
    headers[name] = value;
    headBytes += name.length + value.length + 4;
    headFields++;
  }
  headers['host'] ??= host;
  return {
    ...{ method, url: `${pathname}${search}`, basePath, headers, headBytes, headFields, source },
    // `Headers` joins repeated headers into one value. Two joined host names are not a valid host and are
    // refused later.
    hasSeveralHosts: false,
    hasBody: body !== null,
    address: 'unknown',
    readBody: (maxBytes, signal, onBytes) => readWebBody(source, maxBytes, signal, onBytes),
  };
}

async function readWebBody(
  { body, bodyUsed }: Request,
  maxBytes: number,
  signal: AbortSignal,
  onBytes?: OnBytes,
): Promise<Buffer> {
  if (bodyUsed) throw bodyRead();
  const collected = new ByteCollector();
  if (body === null) return Buffer.alloc(0);
  const reader = body.getReader();
  const cancel = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener('abort', cancel);
  try {
    for (;;) {
      const next = await reader.read().catch(() => undefined);
      signal.throwIfAborted();
      if (next === undefined) throw bodyLost();
      if (next.done) return asBuffer(collected.toBytes());
      if (collected.length + next.value.length > maxBytes) throw bodyTooLarge();
      onBytes?.(next.value.length);
      collected.add(next.value);
    }
  } catch (error) {
    cancel();
    throw error;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function bodyRead(): ServerError {
  const message =
    'Cannot read the body: it was read before. Pass the request to `fetch` unread, or a clone of it';
  return new ServerError('bad_request', message);
}

function bodyLost(): ServerError {
  const message = 'Cannot read the body: the connection closed before its end';
  return new ServerError('bad_request', message);
}

/** When this many bytes wait in a response, `write` returns false, as in Node. */
const highWaterMark = 16_384;
/** Statuses whose responses cannot have a body. */
const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304]);
/** The status for a client that disconnected before the response began. It is never sent. */
const clientClosedStatus = 499;

/**
 * Collects a response and returns it as a `Response` of the Fetch API. A body that is written in one call
 * becomes bytes, and other bodies become a stream. `write` returns false while `highWaterMark` bytes wait for
 * the reader. If the reader cancels the stream, or the request is aborted, the response closes. This is not
 * an error, because frameworks abort the request when the client disconnects.
 */
export class WebResponse extends EventEmitter implements HttpResponse {
  /** Resolves when the response begins. */
  readonly response: Promise<Response>;
  readonly #resolve: (response: Response) => void;
  readonly #headers = new Headers();
  readonly #signal: AbortSignal;
  readonly #isHead: boolean;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #statusCode = 200;
  #headersSent = false;
  #isEnding = false;
  #isClosed = false;
  #destroyed = false;
  #needsDrain = false;

  /** Creates a response. The response to a HEAD request has no body. Default method: GET. */
  constructor(signal: AbortSignal, method = 'GET') {
    super();
    this.#isHead = method === 'HEAD';
    // Each viewer and each limit adds a listener. Their number is small, so the code disables Node's warning.
    this.setMaxListeners(0);
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
    if (signal.aborted) this.destroy();
  }

  get statusCode(): number {
    return this.#statusCode;
  }

  get headersSent(): boolean {
    return this.#headersSent;
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  get writableLength(): number {
    const { desiredSize } = this.#controller ?? {};
    return typeof desiredSize === 'number' ? highWaterMark - desiredSize : 0;
  }

  get writableNeedDrain(): boolean {
    return this.#needsDrain;
  }

  setHeader(name: string, value: string): void {
    // The framework controls the connection, so the response omits this header.
    if (name !== 'connection') this.#headers.set(name, value);
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>> = {}): this {
    this.#statusCode = status;
    this.#headersSent = true;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, String(value));
    return this;
  }

  flushHeaders(): void {
    this.#headersSent = true;
    this.#open();
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#isEnding || this.#destroyed) return false;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    const controller = this.#open();
    if (bytes.length > 0) controller.enqueue(bytes);
    this.#needsDrain = (controller.desiredSize ?? 0) <= 0;
    return !this.#needsDrain;
  }

  end(chunk?: string | Uint8Array): void {
    if (this.#isEnding || this.#destroyed) return;
    if (this.#controller === undefined) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk ?? null);
      this.#isEnding = true;
      this.#begin(bytes as Uint8Array<ArrayBuffer> | null);
      return this.#close();
    }
    if (chunk !== undefined) this.write(chunk);
    this.#isEnding = true;
    this.#closeIfRead();
  }

  destroy(): void {
    if (this.#isClosed || this.#destroyed) return;
    this.#destroyed = true;
    if (this.#controller === undefined) {
      this.#statusCode = clientClosedStatus;
      this.#begin(null);
    } else if (this.#signal.aborted) {
      // The client has disconnected and does not need the rest. The stream closes without an error, because
      // Hono prints every error of a body.
      this.#controller.close();
    } else {
      const message =
        'Cannot send the rest of the response: the server disconnected. Request it again';
      this.#controller.error(new ServerError('unavailable', message));
    }
    this.#close();
  }

  /** Begins a response whose body is a stream, and returns the controller of the stream. */
  #open(): ReadableStreamDefaultController<Uint8Array> {
    if (this.#controller !== undefined) return this.#controller;
    const pull = () => this.#onPull();
    const cancel = () => this.#onCancel();
    const strategy = new ByteLengthQueuingStrategy({ highWaterMark });
    const body = new ReadableStream<Uint8Array>({ start: this.#onStart, pull, cancel }, strategy);
    this.#begin(body);
    // The stream called `start` synchronously, so the controller is set.
    return this.#controller as unknown as ReadableStreamDefaultController<Uint8Array>;
  }

  #begin(body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null): void {
    this.#headersSent = true;
    const status = this.#statusCode;
    const isBodiless = this.#isHead || bodilessStatuses.has(status);
    this.#resolve(new Response(isBodiless ? null : body, { status, headers: this.#headers }));
  }

  /** Called when the reader can accept more bytes. */
  #onPull(): void {
    if (this.#isEnding) return this.#closeIfRead();
    if (!this.#needsDrain) return;
    this.#needsDrain = false;
    this.emit('drain');
  }

  /**
   * Closes the response only after the client has read everything. The event `close` then means the same as
   * for a socket.
   */
  #closeIfRead(): void {
    if (this.#isClosed || this.writableLength > 0) return;
    this.#controller?.close();
    this.#close();
  }

  #onCancel(): void {
    this.#destroyed = true;
    this.#close();
  }

  #onStart = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    this.#controller = controller;
  };

  #onAbort = (): void => this.destroy();

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#signal.removeEventListener('abort', this.#onAbort);
    // Emits the event after the current caller has finished, as Node does.
    queueMicrotask(() => this.emit('close'));
  }
}
