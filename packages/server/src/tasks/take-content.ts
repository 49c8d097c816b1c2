import { isMillraceError } from '@millrace/core';
import { ServerError } from '../contract/server-error.ts';

/** Makes records of what somebody sent. What no log would take is that one's mistake, and told as such. */
export function takeContent<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  if (!isMillraceError(error) || error instanceof ServerError) return error;
  const code = error.code === 'too_large' ? 'too_large' : 'invalid';
  const rule = 'texts have whole characters, ids have 1 to 1024 printable ones, both have limits';
  const message = `Cannot take this content (${error.code}): ${rule}`;
  return new ServerError(code, message, {}, { cause: error });
}
