import { readStored, sharedStorage, tabStorage, writeStored } from '@millrace/react/storage';
import { basePath } from '../server/base-path.ts';

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

/**
 * Stores the token of this tab. The storage that all tabs share gets only a number that is computed from
 * the token, so that the page recognizes a link with another token.
 */
export function writeToken(token: string): void {
  writeStored(tabStorage, 'token', token);
  writeStored(sharedStorage, markKey, markOf(token));
}

/** The parts of a window that give access to the address and the history. */
interface AddressBar {
  readonly location: Pick<Location, 'hash' | 'origin' | 'pathname' | 'search'>;
  readonly history: Pick<History, 'replaceState' | 'state'>;
}

/**
 * Takes the token from a link that `millrace serve` printed, such as `/#token=mr_…`. Browsers do
 * not send the part after `#`. The token is immediately removed from the address and from the
 * history. The tab stores it until the user closes the tab. If the user must confirm the token, it
 * becomes the token of `linkQuestion`. Returns true if the page must use another token from now on.
 * `isOwnLink` is true if no other site can have opened the link.
 */
export function takeLinkToken({ location, history }: AddressBar, isOwnLink: boolean): boolean {
  const text = /^#token=(.+)$/s.exec(location.hash)?.[1];
  if (text === undefined) return false;
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  const token = decoded(text).trim();
  if (tokenProblem(token) !== undefined) return true;
  if (needsQuestion(token, isOwnLink)) {
    linkQuestion.ask(token);
    return false;
  }
  writeToken(token);
  return true;
}

/**
 * Returns true if a link must not sign the user in without a question. A redirect or a page of another
 * site can open a link with the token of an attacker, who could then read what the user writes. So the
 * page asks if this browser uses another token here, or if another site can have opened the link.
 */
function needsQuestion(token: string, isOwnLink: boolean): boolean {
  const own = readToken();
  if (own !== '') return own !== token;
  const mark = readStored(sharedStorage, markKey);
  if (mark !== undefined) return mark !== markOf(token);
  return !isOwnLink;
}

/**
 * Returns true if the user opened this page without a page of another site, for example from a terminal. The
 * server reports it, because only the browser sets the header `sec-fetch-site`. The referrer does not count: a
 * page of another site can omit it. Without a report, the answer is false. A service worker requests the page
 * itself, so its report does not count.
 */
export function isOpenedHere(of: Pick<Performance, 'getEntriesByType'> = performance): boolean {
  const [opened] = of.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const isDirect = opened?.workerStart === 0;
  return isDirect && !!opened.serverTiming?.some(({ name }) => name === 'own-link');
}

/** Other servers can have the same origin, below other paths. */
const markKey = `token-mark${basePath}`;

/** Returns 32 bits that depend on a token (FNV-1a). They are too few to find the token. */
function markOf(token: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(token)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(36);
}

/** The question whether to sign in with the token of a link. */
export const linkQuestion = {
  /** The token of the link. Undefined if there is no question. */
  token: undefined as string | undefined,
  listeners: new Set<() => void>(),
  ask(token: string | undefined): void {
    linkQuestion.token = token;
    for (const listener of linkQuestion.listeners) listener();
  },
  subscribe(listener: () => void): () => void {
    linkQuestion.listeners.add(listener);
    return () => linkQuestion.listeners.delete(listener);
  },
};

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
