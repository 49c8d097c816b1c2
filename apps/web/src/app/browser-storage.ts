/**
 * Reads a value from browser storage. Returns undefined if there is none, or if the browser blocks
 * storage. The page works without storage.
 */
export function readStored(storage: () => Storage, key: string): string | undefined {
  try {
    return storage().getItem(`millrace:${key}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a value in browser storage. Undefined removes the stored value. */
export function writeStored(storage: () => Storage, key: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(`millrace:${key}`);
    else storage().setItem(`millrace:${key}`, value);
  } catch {
    // The storage is full or blocked. Stored values are a convenience, so the page reports no
    // error.
  }
}

export const sharedStorage = (): Storage => localStorage;
export const tabStorage = (): Storage => sessionStorage;

// Returns the token of this tab, or an empty string. This file imports nothing, because the token
// is needed before the rest of the page is evaluated.
export function readToken(): string {
  const token = readStored(tabStorage, 'token') ?? '';
  // A token that cannot be sent would break every request, even the one that makes the server ask
  // for another token.
  return tokenProblem(token) === undefined ? token : '';
}

/** Returns why the token cannot be sent in a request. Returns undefined if it can. */
export function tokenProblem(token: string): string | undefined {
  const invalid = /[^\u0020-\u007e\u0080-\u00ff]/u.exec(token)?.[0];
  if (invalid === undefined) return undefined;
  const code = invalid.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  const displayed = /[\p{C}\p{Z}]/u.test(invalid) ? `U+${code}` : `“${invalid}”`;
  return `A token with ${displayed} in it cannot be sent. Copy it again, as it was given to the server.`;
}

export function writeToken(token: string): void {
  writeStored(tabStorage, 'token', token);
}

/** The parts of a window that hold the address of the page. */
interface AddressBar {
  readonly location: Pick<Location, 'hash' | 'pathname' | 'search'>;
  readonly history: Pick<History, 'replaceState' | 'state'>;
}

/**
 * Takes the token from a link that `millrace serve` printed, such as `/#token=mr_…`. Browsers do
 * not send the part after `#`. The token is removed from the address and from the history at once,
 * and kept until the tab is closed. Returns true if the link had a token.
 */
export function takeLinkToken({ location, history }: AddressBar): boolean {
  const text = /^#token=(.+)$/s.exec(location.hash)?.[1];
  if (text === undefined) return false;
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  const token = decoded(text).trim();
  if (tokenProblem(token) === undefined) writeToken(token);
  return true;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
