import type { IncomingHttpHeaders } from 'node:http';
import { ServerError } from '../contract/server-error.ts';

export const keyForm: RegExp = /^[\x21-\x7e]{1,256}$/;

/** What makes a request that is sent again count once; undefined where the client named none. */
export function idempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && keyForm.test(key)) return key;
  const message =
    'Cannot take this idempotency-key: it is not of 1 to 256 printable characters without spaces';
  throw new ServerError('invalid', message);
}
