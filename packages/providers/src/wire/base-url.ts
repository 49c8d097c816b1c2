import { fault } from '../errors/wire-fault.ts';

/**
 * The two parts of a base URL: the address without a trailing slash, and the query, which is added to all
 * requests.
 */
interface BaseUrl {
  readonly base: string;
  readonly query: string;
}

export function readBaseUrl(given: string | URL): BaseUrl {
  const [address = ''] = String(given).trim().split('#');
  const [place = '', ...queries] = address.split('?');
  return { base: place.replace(/(?<!\/)\/+$/, ''), query: queries.join('?') };
}

/** Adds the query to a URL. Parameters of the query replace parameters of the URL. */
export function withQuery(url: string, query: string): string {
  if (query === '') return url;
  const [place, own = ''] = url.split('?');
  const given = new URLSearchParams(query);
  const kept = own.split('&').filter((pair) => pair !== '' && !given.has(parameterName(pair)));
  return `${place}?${[...kept, query].join('&')}`;
}

function parameterName(pair: string): string {
  return pair.split('=')[0] ?? '';
}

/** Encodes a path. Throws if a part of the path would lead to a different path, for example `..`. */
export function encodedPath(path: string): string {
  return path.split('/').map(encodedName).join('/');
}

/**
 * Encodes one segment of a path. Slashes inside the segment are encoded too. Throws if the segment would lead
 * to a different path.
 */
export function encodedName(name: string): string {
  if (!/^\.{0,2}$/.test(name)) return encodeURIComponent(name);
  const shown = JSON.stringify(name);
  throw fault(
    'invalid_request',
    `the model's name has ${shown} in it, which is not allowed in a path`,
  );
}
