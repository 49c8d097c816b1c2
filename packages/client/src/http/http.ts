import { type JsonObject, type JsonValue, type TraceContext, traceContext } from '@millrace/core';
import { ClientError } from '../client-error.ts';
import type { Clock } from '../clock.ts';
import { type BackOff, backOffMs } from './back-off.ts';
import { mayPass, parsed, refusalOf } from './refusal.ts';
import { wait } from './wait.ts';

export interface HttpOptions {
  /** Where the server is. */
  readonly url: string | URL;
  /** What it wants to see; a function is asked before each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly backOff: BackOff;
  /** How long an answer may take, where asking again does no harm. */
  readonly answerTimeoutMs: number;
  /** What requests that begin work are part of. */
  readonly trace?: (() => TraceContext | undefined) | undefined;
}

export interface Call {
  /** For people: "list tasks". */
  readonly what: string;
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: JsonObject;
  /** What makes it count once, however often it is sent. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** It does no harm to send it again. */
  readonly isSafe: boolean;
  /** Its answer begins when what is before it is done, however long that takes. */
  readonly isPatient?: boolean;
  /** What it is part of, however often it is sent. */
  readonly trace?: TraceContext | undefined;
}

export interface Answer {
  readonly value: JsonValue;
  readonly headers: Headers;
}

const maxTries = 6;

/** Requests to one server. */
export class Http {
  readonly options: HttpOptions;
  readonly #base: URL;

  constructor(options: HttpOptions) {
    this.options = options;
    const here = (globalThis as { location?: { href?: string } }).location?.href;
    const base = new URL(options.url, here);
    base.pathname = base.pathname.replace(/\/*$/, '/');
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

  /** One try, whose answer is whatever came. Throws `unreachable`, or what the signal says. */
  async send({
    what,
    method = 'GET',
    path,
    query,
    body,
    key,
    signal,
    trace,
  }: Call): Promise<Response> {
    const headers = new Headers({ accept: '*/*' });
    if (body !== undefined) headers.set('content-type', 'application/json');
    if (key !== undefined) headers.set('idempotency-key', key);
    for (const [name, value] of Object.entries(trace ?? {})) headers.set(name, value);
    const init: RequestInit = {
      ...{ method, headers, cache: 'no-store' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
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

  /** JSON for JSON. */
  json(call: Call): Promise<Answer> {
    return this.tried(call, (one) => this.#answer(one));
  }

  /** What is safe is tried again for a while. */
  async tried<T>(given: Call, ask: (call: Call) => Promise<T>): Promise<T> {
    const call = given.method === 'POST' ? { ...given, trace: this.#trace() } : given;
    const { clock, random, backOff } = this.options;
    const { signal } = call;
    for (let failures = 1; ; failures++) {
      try {
        return await this.#try(call, ask);
      } catch (error) {
        if (!(error instanceof ClientError) || signal?.aborted) throw error;
        // A request that was counted out was not looked at.
        const isSafe = call.isSafe || error.status === 429;
        if (!isSafe || !mayPass(error) || failures >= maxTries) throw error;
        const ms = Math.max(error.retryAfterMs ?? 0, backOffMs(failures, backOff, random));
        await wait(clock, ms, { signal });
      }
    }
  }

  /** Of the application's making: a bad one is not sent, and no reason not to send. */
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
    if (!response.ok) throw await refusalOf(response, what);
    const value = parsed(await textOf(response, call));
    if (value !== undefined) return { value, headers: response.headers };
    const message = `Cannot ${what}: the answer is no JSON. Check that the URL is that of a Millrace server`;
    throw new ClientError('bad_answer', message);
  }
}

/** All of an answer. */
export function textOf(response: Response, { what, signal }: Call): Promise<string> {
  return response.text().catch((cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    const message = `Cannot ${what}: the connection broke before the answer was whole`;
    throw new ClientError('unreachable', message, {}, { cause });
  });
}

function unreachable(what: string, cause: unknown): ClientError {
  const message = `Cannot ${what}: the server cannot be reached. Check that it runs and that its URL is right`;
  return new ClientError('unreachable', message, {}, { cause });
}
