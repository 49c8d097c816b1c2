// Alone, because it is needed before the rest of the page is even evaluated.
import { readStored, session, writeStored } from './stored.ts';

export function readToken(): string {
  const token = readStored(session, 'token') ?? '';
  // With one that cannot be sent nothing could be asked at all, not even for another.
  return refusalOfToken(token) === undefined ? token : '';
}

/** Why no request can carry it; undefined where one can. */
export function refusalOfToken(token: string): string | undefined {
  const odd = /[^\u0020-\u007e\u0080-\u00ff]/u.exec(token)?.[0];
  if (odd === undefined) return undefined;
  const code = odd.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  const shown = /[\p{C}\p{Z}]/u.test(odd) ? `U+${code}` : `“${odd}”`;
  return `A token with ${shown} in it cannot be sent. Copy it again, as it was given to the server.`;
}

export function writeToken(token: string): void {
  writeStored(session, 'token', token);
}
