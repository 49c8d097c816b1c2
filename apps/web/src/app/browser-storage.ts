import { readStored, tabStorage, writeStored } from '@millrace/react/storage';

// Returns the token of this tab, or an empty string. This file imports only what it needs, because
// the token is needed before the rest of the page is evaluated.
export function readToken(): string {
  const token = readStored(tabStorage, 'token') ?? '';
  // Characters that HTTP headers do not allow would make every request fail in the browser. Without
  // a token, the server can reject the request and the page asks for a token.
  return tokenProblem(token) === undefined ? token : '';
}

/**
 * Returns the first character of the token that an HTTP header cannot contain. Returns undefined if the
 * token is valid.
 */
export function tokenProblem(token: string): string | undefined {
  const invalid = /[^\u0020-\u007e\u0080-\u00ff]/u.exec(token)?.[0];
  if (invalid === undefined) return undefined;
  const code = invalid.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  const displayed = /[\p{C}\p{Z}]/u.test(invalid) ? `U+${code}` : `“${invalid}”`;
  return displayed;
}

export function writeToken(token: string): void {
  writeStored(tabStorage, 'token', token);
}

/** The parts of a window that give access to the address and the history. */
interface AddressBar {
  readonly location: Pick<Location, 'hash' | 'pathname' | 'search'>;
  readonly history: Pick<History, 'replaceState' | 'state'>;
}

/**
 * Takes the token from a link that `millrace serve` printed, such as `/#token=mr_…`. Browsers do
 * not send the part after `#`. The token is immediately removed from the address and from the
 * history. The tab stores it until the user closes the tab. Returns true if the link had a token.
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
