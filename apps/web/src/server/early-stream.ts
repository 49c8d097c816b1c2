import { isOpenedHere, linkQuestion, readToken, takeLinkToken } from '../app/browser-storage.ts';
import { basePath, belowBase } from './base-path.ts';

/** The early request is aborted if the client does not use it within this time. */
const unusedTimeoutMs = 10_000;

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/**
 * Immediately requests what the page in the URL shows first: the stream of a session, or the first
 * difference of two sessions. Returns a fetch function. The first request for the same URL gets the
 * early response.
 */
export function earlyStream(
  href: string,
  token: string,
  fetch: Fetch,
  base: string = basePath,
): Fetch {
  const url = firstRequestOf(href, base);
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
  // The client handles the error when it uses the response. Until then, this empty handler prevents
  // an unhandled rejection.
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

function firstRequestOf(href: string, base: string): URL | undefined {
  const { pathname, origin, search } = new URL(href);
  // This file does not import the route module, because that import would load the rest of the page
  // first.
  const [, id, isDiff] = /^\/app\/tasks\/([^/]+)(\/diff)?$/.exec(belowBase(pathname, base)) ?? [];
  if (id === undefined) return undefined;
  const path = isDiff ? `divergence${search}` : 'stream?view=records&start=recent';
  return new URL(`${base}/tasks/${id}/${path}`, origin);
}

function tokenOf({ headers }: RequestInit): string {
  return new Headers(headers).get('authorization') ?? '';
}

const plainFetch: Fetch = (url, init) => fetch(url, init);
const isPage = typeof document !== 'undefined' && typeof location !== 'undefined';

// The first request needs the token, so the page takes it from the link before that request.
if (isPage) takeLinkToken(window, isOpenedHere());

/** The fetch function of the page's client. */
export const fetchWithEarlyStream: Fetch =
  isPage && linkQuestion.token === undefined
    ? earlyStream(location.href, readToken(), plainFetch)
    : plainFetch;
