import { ServerError } from '../contract/server-error.ts';

export interface OriginRequest {
  readonly origin: string | undefined;
  readonly host: string | undefined;
}

/** The headers that let a page of a named origin read the answer; others than it and our own are refused. */
export function checkOrigin(
  { origin, host }: OriginRequest,
  allowed: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  if (origin === undefined || isOwn(origin, host)) return {};
  if (!allowed.has(origin)) {
    const message = 'Cannot answer to a page of this origin. Add it to `origins` if it may ask';
    throw new ServerError('forbidden', message);
  }
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'x-next-cursor, x-request-id, retry-after',
    vary: 'origin',
  };
}

/** What a browser asks before it lets a page of another origin ask. */
export const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, idempotency-key, last-event-id, traceparent, tracestate, x-agent-api-key, x-request-id',
  'access-control-max-age': '600',
};

function isOwn(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
