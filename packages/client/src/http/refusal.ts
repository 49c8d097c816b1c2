import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { ClientError, type ClientErrorCode } from '../contract/client-error.ts';

/**
 * Error codes by HTTP status. They are used for responses of proxies, which contain no Millrace error code.
 */
const byStatus: Readonly<Record<number, ClientErrorCode>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  408: 'request_timeout',
  409: 'conflict',
  410: 'gone',
  413: 'too_large',
  422: 'invalid',
  429: 'rate_limited',
  500: 'internal',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
  507: 'storage_full',
};

/** Statuses of temporary errors. */
const passing: ReadonlySet<number> = new Set([408, 421, 425, 429]);

/** Returns whether a repeated request can succeed. */
export function isTemporary({ code, status }: ClientError): boolean {
  if (code === 'unreachable' || code === 'silent') return true;
  if (status === undefined) return false;
  return passing.has(status) || (status >= 500 && status !== 501);
}

/** Returns the error for a failed response. The body may have Millrace's format or any other format. */
export async function errorOf(response: Response, what: string): Promise<ClientError> {
  const { status } = response;
  const text = await response.text().catch(() => '');
  const body = asObject(parsed(text));
  const own = asObject(body['error']);
  const said = body['message'];
  const code = (asText(own['code']) ?? byStatus[status] ?? otherCode(status)) as ClientErrorCode;
  const message = asText(said) ?? `Cannot ${what}: the answer is ${status} without a reason`;
  return new ClientError(
    code,
    message,
    {},
    {
      ...{ status, retryAfterMs: retryAfterMs(response.headers), details: own },
    },
  );
}

export function parsed(text: string): JsonValue | undefined {
  const result = parseJson(text);
  return result.ok ? result.value : undefined;
}

export function asObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function asText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function otherCode(status: number): ClientErrorCode {
  return status >= 500 ? 'internal' : 'bad_request';
}

/** Returns the header `retry-after` in milliseconds. It reads only a number of seconds and ignores dates. */
function retryAfterMs(headers: Headers): number | undefined {
  const header = headers.get('retry-after');
  const seconds = header === null || header.trim() === '' ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
