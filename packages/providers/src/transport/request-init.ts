import type { TraceContext } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { HttpRequest } from './http-request.ts';

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
  const body = textOf(request.body);
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

function textOf(body: HttpRequest['body']): string | undefined {
  try {
    return JSON.stringify(body);
  } catch {
    return undefined;
  }
}
