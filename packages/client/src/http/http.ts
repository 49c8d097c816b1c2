import { type JsonObject, type JsonValue, type TraceContext, traceContext } from '@millrace/core';
import { ClientError } from '../contract/client-error.ts';
import { errorOf, isTemporary, parsed } from './refusal.ts';
import { type BackOff, backOffMs, type Clock, wait } from './timing.ts';

export interface HttpOptions {
  /** The address of the server. */
  readonly url: string | URL;
  /** The token, or a function that returns the token. The client calls the function before each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  readonly clock: Clock;
  /** Returns a random number from 0 up to 1. */
  readonly random: () => number;
  readonly backOff: BackOff;
  /** The timeout of requests that are safe to repeat, in milliseconds. */
  readonly answerTimeoutMs: number;
  /** Returns the trace context of a request that starts work. Default: no trace is sent. */
  readonly trace?: (() => TraceContext | undefined) | undefined;
}

export interface Call {
  /** A description of the operation for error messages, such as "list tasks". */
  readonly what: string;
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: JsonObject;
  /** A file to upload, instead of a JSON body. */
  readonly file?: Blob;
  /** The idempotency key. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** True if the request is safe to repeat. */
  readonly isSafe: boolean;
  /** True if the request has no timeout, because its response may have to wait for earlier work. */
  readonly isPatient?: boolean;
  /** The trace context. A repeated request sends the same trace context. */
  readonly trace?: TraceContext | undefined;
}

interface Answer {
  readonly value: JsonValue;
  readonly headers: Headers;
}

const maxTries = 6;

/** Sends requests to one server. */
export class Http {
  readonly options: HttpOptions;
  readonly #base: URL;

  constructor(options: HttpOptions) {
    this.options = options;
    const here = (globalThis as { location?: { href?: string } }).location?.href;
    const base = new URL(options.url, here);
    base.pathname = base.pathname.replace(/(?<!\/)\/*$/, '/');
    base.search = '';
    base.hash = '';
    this.#base = base;
  }

  urlOf(path: string, query: Call['query'] = {}): URL {
    const url = new URL(path.replace(/^\/+/, ''), this.#base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  }

  /**
   * Sends the request once and returns the response, whatever its status. Throws `unreachable`, or the reason
   * of the signal.
   */
  async send({
    what,
    method = 'GET',
    path,
    query,
    body,
    file,
    key,
    signal,
    trace,
  }: Call): Promise<Response> {
    const headers = new Headers({ accept: '*/*' });
    if (body !== undefined) headers.set('content-type', 'application/json');
    if (file !== undefined) headers.set('content-type', 'application/octet-stream');
    if (key !== undefined) headers.set('idempotency-key', key);
    for (const [name, value] of Object.entries(trace ?? {})) headers.set(name, value);
    const init: RequestInit = {
      ...{ method, headers, cache: 'no-store' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(file !== undefined && { body: file }),
      ...(signal && { signal }),
    };
    try {
      const token = await this.#token();
      if (token !== '') headers.set('authorization', `Bearer ${token}`);
      return await this.options.fetch(this.urlOf(path, query), init);
    } catch (error) {
      throw signal?.aborted ? signal.reason : unreachable(what, error);
    }
  }

  /** Sends a request and returns its JSON response. It repeats a failed request if this is safe. */
  json(call: Call): Promise<Answer> {
    return this.retried(call, (one) => this.#answer(one));
  }

  /**
   * Sends a request. If the request is safe to repeat, it repeats a failed request a limited number of times.
   */
  async retried<T>(given: Call, ask: (call: Call) => Promise<T>): Promise<T> {
    const call = given.method === 'POST' ? { ...given, trace: this.#trace() } : given;
    const { clock, random, backOff } = this.options;
    const { signal } = call;
    for (let failures = 1; ; failures++) {
      try {
        return await this.#try(call, ask);
      } catch (error) {
        if (!(error instanceof ClientError) || signal?.aborted) throw error;
        // The server did not process a request over the rate limit, so the client can repeat it.
        const isSafe = call.isSafe || error.status === 429;
        if (!isSafe || !isTemporary(error) || failures >= maxTries) throw error;
        const ms = Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
        await wait(clock, ms, { signal });
      }
    }
  }

  /** Returns the trace context of the application. If it is invalid, the request is sent without a trace. */
  #trace(): TraceContext | undefined {
    const { traceparent, tracestate } = this.options.trace?.() ?? {};
    return traceContext(traceparent, tracestate);
  }

  async #token(): Promise<string> {
    const { token } = this.options;
    return (typeof token === 'function' ? await token() : token) ?? '';
  }

  async #try<T>(call: Call, ask: (call: Call) => Promise<T>): Promise<T> {
    const { clock, answerTimeoutMs } = this.options;
    if (!call.isSafe || call.isPatient) return ask(call);
    const controller = new AbortController();
    const late = new ClientError('unreachable', `Cannot ${call.what}: no answer came in time`);
    const stopTimer = clock.after(answerTimeoutMs, () => controller.abort(late));
    const signals = [controller.signal, ...(call.signal ? [call.signal] : [])];
    try {
      return await ask({ ...call, signal: AbortSignal.any(signals) });
    } finally {
      stopTimer();
    }
  }

  async #answer(call: Call): Promise<Answer> {
    const { what } = call;
    const response = await this.send(call);
    if (!response.ok) throw await errorOf(response, what);
    const value = parsed(await textOf(response, call));
    if (value !== undefined) return { value, headers: response.headers };
    const message = `Cannot ${what}: the answer is no JSON. Is the URL that of a Millrace server?`;
    throw new ClientError('bad_answer', message);
  }
}

/** Reads the complete body of a response. */
export function textOf(response: Response, { what, signal }: Call): Promise<string> {
  return response.text().catch((cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    const message = `Cannot ${what}: the connection broke before the answer was whole`;
    throw new ClientError('unreachable', message, {}, { cause });
  });
}

function unreachable(what: string, cause: unknown): ClientError {
  const message = `Cannot ${what}: the server cannot be reached. Check its URL, and that it runs`;
  return new ClientError('unreachable', message, {}, { cause });
}
