/** What a browser keeps for the page. Where it may keep nothing, the page works all the same. */
export function readStored(storage: () => Storage, key: string): string | undefined {
  try {
    return storage().getItem(`millrace:${key}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined forgets it. */
export function writeStored(storage: () => Storage, key: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(`millrace:${key}`);
    else storage().setItem(`millrace:${key}`, value);
  } catch {
    // Full or forbidden: it is a convenience, and the page says nothing of it.
  }
}

export const local = (): Storage => localStorage;
export const session = (): Storage => sessionStorage;

// Alone, because it is needed before the rest of the page is even evaluated.
export function readToken(): string {
  const token = readStored(session, 'token') ?? '';
  // With one that cannot be sent nothing could be asked at all, not even for another.
  return tokenProblem(token) === undefined ? token : '';
}

/** Why no request can carry it; undefined where one can. */
export function tokenProblem(token: string): string | undefined {
  const odd = /[^\u0020-\u007e\u0080-\u00ff]/u.exec(token)?.[0];
  if (odd === undefined) return undefined;
  const code = odd.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  const shown = /[\p{C}\p{Z}]/u.test(odd) ? `U+${code}` : `“${odd}”`;
  return `A token with ${shown} in it cannot be sent. Copy it again, as it was given to the server.`;
}

export function writeToken(token: string): void {
  writeStored(session, 'token', token);
}
