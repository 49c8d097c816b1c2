import { readToken } from '../app/browser-storage.ts';

/** What nobody takes over in this time is given up. */
const keptMs = 10_000;

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/** Asks for the stream of the session that a page is opened at; whoever wants it next is given that answer. */
export function earlyStream(href: string, token: string, fetch: Fetch): Fetch {
  const url = streamOf(href);
  if (url === undefined) return fetch;
  const given = new AbortController();
  const headers = new Headers({ accept: '*/*' });
  if (token !== '') headers.set('authorization', `Bearer ${token}`);
  const init: RequestInit = { method: 'GET', headers, cache: 'no-store', signal: given.signal };
  let early: Promise<Response> | undefined = fetch(url, init);
  // Whoever takes it hears of it as well; until then it is nobody's fault.
  early.catch(() => {});
  const timer = setTimeout(() => given.abort(), keptMs);
  return (asked, how) => {
    const answer = early;
    const isIt = asked.href === url.href && tokenOf(how) === tokenOf(init);
    if (answer === undefined || !isIt || how.signal?.aborted) return fetch(asked, how);
    early = undefined;
    clearTimeout(timer);
    how.signal?.addEventListener('abort', () => given.abort(how.signal?.reason));
    return given.signal.aborted ? fetch(asked, how) : answer;
  };
}

function streamOf(href: string): URL | undefined {
  const { pathname, origin } = new URL(href);
  // The route's own words are not used: with them comes all that is to be evaluated later.
  const id = /^\/app\/tasks\/([^/]+)$/.exec(pathname)?.[1];
  return id === undefined ? undefined : new URL(`/tasks/${id}/stream?view=records`, origin);
}

function tokenOf({ headers }: RequestInit): string {
  return new Headers(headers).get('authorization') ?? '';
}

const plain: Fetch = (url, init) => fetch(url, init);
const isPage = typeof document !== 'undefined' && typeof location !== 'undefined';

/** What the page's client asks with. */
export const fetchOrEarly: Fetch = isPage ? earlyStream(location.href, readToken(), plain) : plain;
