import { fault, WireFault } from '../errors/wire-fault.ts';
import { checkSecret } from '../wire/api-options.ts';

/** The token, or the current one. Throws a `WireFault` where there is none. */
export function needAccessToken(accessToken: string | (() => string)): string {
  const secret = checkSecret('accessToken', askFor(accessToken));
  if (!secret) throw fault('auth', 'there is no token: accessToken is empty');
  return secret;
}

function askFor(accessToken: unknown): unknown {
  if (typeof accessToken !== 'function') return accessToken;
  try {
    return accessToken();
  } catch (error) {
    throw noToken(error);
  }
}

function noToken(cause: unknown): WireFault {
  return new WireFault({ message: 'accessToken threw', words: [] }, 'auth', { cause });
}
