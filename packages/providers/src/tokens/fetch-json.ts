import { type JsonValue, parseJson } from '@millrace/core';
import { type Clock, systemClock } from '../transport/clock.ts';

/** A small request that does not stream: a token count, or a query to a local server. */
export interface JsonRequest {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The body, which is sent with POST. Without a body, the method is GET. */
  readonly body?: JsonValue | undefined;
  /** The timeout in milliseconds. Default: 10,000 (10 s). */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The fetch and the clock for requests. */
export interface JsonTransport {
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
}

const defaultTimeoutMs = 10_000;
const maxBodyBytes = 4_000_000;

/** A complete answer to a `JsonRequest`. */
export interface JsonAnswer {
  readonly status: number;
  /** The JSON of the body. Undefined if the status is not 2xx, or if the body is not JSON. */
  readonly value: JsonValue | undefined;
}

/**
 * Sends a request and returns the JSON of its answer. Returns undefined after any failure, because callers
 * can work without the answer.
 */
export async function fetchJson(
  transport: JsonTransport,
  request: JsonRequest,
): Promise<JsonValue | undefined> {
  return (await fetchAnswer(transport, request))?.value;
}

/**
 * Sends a request and returns its answer. Returns undefined if no complete answer arrived, for example after
 * a network error or a timeout. Redirects are not followed, because they could send a key to a different
 * host.
 */
export async function fetchAnswer(
  { fetch = globalThis.fetch, clock = systemClock }: JsonTransport,
  { url, headers = {}, body, timeoutMs = defaultTimeoutMs, signal }: JsonRequest,
): Promise<JsonAnswer | undefined> {
  const late = new AbortController();
  const abort = () => late.abort();
  const cancel = clock.after(timeoutMs, abort);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  const ended = new Promise<undefined>((resolve) => {
    late.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    if (late.signal.aborted) resolve(undefined);
  });
  try {
    const init: RequestInit = { headers, redirect: 'error', signal: late.signal };
    const post = { ...init, method: 'POST', body: JSON.stringify(body) };
    const answered = fetch(url, body === undefined ? init : post).then(readAnswer);
    return await Promise.race([answered.catch(() => undefined), ended]);
  } catch {
    return undefined;
  } finally {
    cancel();
    signal?.removeEventListener('abort', abort);
    late.abort();
  }
}

async function readAnswer(response: Response): Promise<JsonAnswer> {
  const { status } = response;
  if (!response.ok) {
    await response.body?.cancel();
    return { status, value: undefined };
  }
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxBodyBytes) return { status, value: undefined };
  }
  const parsed = parseJson(text + decoder.decode());
  return { status, value: parsed.ok ? parsed.value : undefined };
}
