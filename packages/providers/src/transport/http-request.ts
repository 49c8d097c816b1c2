import type { JsonObject, TraceContext } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

export interface HttpRequest {
  /** The HTTP method. Only `POST` requests have a body. Default: `POST`. */
  readonly method?: 'GET' | 'DELETE' | undefined;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Bytes that are sent instead of the body. Default: none. */
  readonly content?: Uint8Array | undefined;
  /** Values that must never be shown, such as the API key. */
  readonly secrets: readonly string[];
  /**
   * Messages about parts of the request that the API cannot express, and about the replacement that is sent.
   */
  readonly warnings?: readonly string[] | undefined;
}

/**
 * Returns the options for fetch. Throws a `WireFault` if the request can never be sent, because such a
 * request must not be retried.
 */
export function requestInit(
  request: HttpRequest,
  signal: AbortSignal,
  trace?: TraceContext,
): RequestInit {
  // Headers that the caller sets replace the headers of the trace.
  const headers = { ...trace, ...request.headers };
  // The headers are checked here, because the error message of fetch would quote the value. The value can be
  // the API key.
  const bad = Object.entries(headers).find((header) => !isSendable(header));
  if (bad) throw fault('invalid_request', `the header ${bad[0]} has a value that cannot be sent`);
  const body = jsonOf(request.body);
  if (body === undefined) throw fault('invalid_request', 'the body cannot be written as JSON');
  // Redirects are not followed, because a redirect could send the API key to a different host.
  const rest = { headers, redirect: 'manual', signal } as const;
  const { method, content } = request;
  if (method !== undefined) return { ...rest, method };
  return {
    ...rest,
    method: 'POST',
    body: (content as Uint8Array<ArrayBuffer> | undefined) ?? body,
  };
}

function isSendable(header: [name: string, value: string]): boolean {
  try {
    return [...new Headers([header])].length > 0;
  } catch {
    return false;
  }
}

function jsonOf(body: HttpRequest['body']): string | undefined {
  try {
    return JSON.stringify(body);
  } catch {
    return undefined;
  }
}

/**
 * Throws if the URL can never be the address of a server. The message contains only the protocol of the URL.
 */
export function checkUrl(url: string): void {
  // In a browser, the URL can be relative to the page.
  const { location } = globalThis as { readonly location?: { readonly href?: string } };
  const parsed = URL.parse(url, location?.href);
  if (parsed === null) {
    throw fault(
      'invalid_request',
      'the base URL is not a URL (invalid URL); pass one such as https://…',
    );
  }
  const { protocol, username, password } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw fault('invalid_request', `the base URL starts with ${protocol}, not http:// or https://`);
  }
  if (username !== '' || password !== '') {
    throw fault('invalid_request', 'the base URL includes credentials; pass them as headers');
  }
}

/**
 * Throws if a custom `fetch` returned a value that is not a response. It checks the shape, because the object
 * can come from a different JavaScript realm.
 */
export function checkResponse(response: unknown): asserts response is Response {
  const { status, headers, body } = (response ?? {}) as { readonly [name: string]: unknown };
  const isResponse = typeof status === 'number' && hasMethod(headers, 'get');
  if (!isResponse) throw fault('invalid_request', 'fetch did not return a Response');
  if (body === null || body === undefined) return;
  if (!hasMethod(body, 'getReader')) {
    throw fault('invalid_request', 'the body of the Response from fetch is not a web stream');
  }
  if ('locked' in body && body.locked) {
    throw fault('invalid_request', 'the body of the Response from fetch is already being read');
  }
}

function hasMethod(value: unknown, name: string): value is object {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
  );
}
