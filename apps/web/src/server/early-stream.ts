import { readToken } from '../app/browser-storage.ts';

/** What nobody takes over in this time is controller up. */
const unusedTimeoutMs = 10_000;

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/** Asks for the stream of the session that a page is opened at; whoever wants it next is controller that answer. */
export function earlyStream(href: string, token: string, fetch: Fetch): Fetch {
  const url = streamOf(href);
  if (url === undefined) return fetch;
  const controller = new AbortController();
  const headers = new Headers({ accept: '*/*' });
  if (token !== '') headers.set('authorization', `Bearer ${token}`);
  const init: RequestInit = {
    method: 'GET',
    headers,
    cache: 'no-store',
    signal: controller.signal,
  };
  let early: Promise<Response> | undefined = fetch(url, init);
  // Whoever takes it hears of it as well; until then it is nobody's fault.
  early.catch(() => {});
  const timer = setTimeout(() => controller.abort(), unusedTimeoutMs);
  return (requested, options) => {
    const answer = early;
    const isSameRequest = requested.href === url.href && tokenOf(options) === tokenOf(init);
    if (answer === undefined || !isSameRequest || options.signal?.aborted)
      return fetch(requested, options);
    early = undefined;
    clearTimeout(timer);
    options.signal?.addEventListener('abort', () => controller.abort(options.signal?.reason));
    return controller.signal.aborted ? fetch(requested, options) : answer;
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

const plainFetch: Fetch = (url, init) => fetch(url, init);
const isPage = typeof document !== 'undefined' && typeof location !== 'undefined';

/** What the page's client asks with. */
export const fetchWithEarlyStream: Fetch = isPage
  ? earlyStream(location.href, readToken(), plainFetch)
  : plainFetch;
