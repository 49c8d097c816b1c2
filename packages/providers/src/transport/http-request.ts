import type { JsonObject, TraceContext } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

export interface HttpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** What must never be shown: the key. */
  readonly secrets: readonly string[];
}

/** What fetch is told. Throws a fault for what can never be sent, so that nobody tries again. */
export function requestInit(
  request: HttpRequest,
  signal: AbortSignal,
  trace?: TraceContext,
): RequestInit {
  // Whoever names these headers by hand means them.
  const headers = { ...trace, ...request.headers };
  // What fetch itself says would quote the value, which may be the key.
  const bad = Object.entries(headers).find((header) => !isSendable(header));
  if (bad) throw fault('invalid_request', `the header ${bad[0]} has a value that cannot be sent`);
  const body = jsonOf(request.body);
  if (body === undefined) throw fault('invalid_request', 'the body cannot be written as JSON');
  // A redirect would carry the key to a host that nobody named.
  return { method: 'POST', headers, body, redirect: 'manual', signal };
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

/** Throws for what can never be an address of a server. Nothing of it is told but how it starts. */
export function checkUrl(url: string): void {
  // In a browser an address may be relative to the page's.
  const { location } = globalThis as { readonly location?: { readonly href?: string } };
  const parsed = URL.parse(url, location?.href);
  if (parsed === null) {
    throw fault('invalid_request', 'the base URL is no URL (invalid URL); pass one as https://…');
  }
  const { protocol, username, password } = parsed;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw fault('invalid_request', `the base URL starts with ${protocol}, not http:// or https://`);
  }
  if (username !== '' || password !== '') {
    throw fault('invalid_request', 'the base URL includes credentials; pass them as headers');
  }
}

/** Throws where a `fetch` of the caller gave something else. Told by shape: it may be another realm's. */
export function checkResponse(response: unknown): asserts response is Response {
  const { status, headers, body } = (response ?? {}) as { readonly [name: string]: unknown };
  const isResponse = typeof status === 'number' && hasMethod(headers, 'get');
  if (!isResponse) throw fault('invalid_request', 'fetch gave something that is no Response');
  if (body === null || body === undefined) return;
  if (!hasMethod(body, 'getReader')) {
    throw fault('invalid_request', 'the body of the Response that fetch gave is no web stream');
  }
  if ('locked' in body && body.locked) {
    throw fault(
      'invalid_request',
      'the body of the Response that fetch gave is being read already',
    );
  }
}

function hasMethod(value: unknown, name: string): value is object {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
  );
}
