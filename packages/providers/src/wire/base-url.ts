import { fault } from '../errors/wire-fault.ts';

/** A base URL in two: the place, without a slash at its end, and the query that belongs to all below. */
interface BaseUrl {
  readonly base: string;
  readonly query: string;
}

export function readBaseUrl(given: string | URL): BaseUrl {
  const [address = ''] = String(given).trim().split('#');
  const [place = '', ...queries] = address.split('?');
  return { base: place.replace(/\/+$/, ''), query: queries.join('?') };
}

/** The address with the query too. What the caller named there is not said twice. */
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

/** A path whose names cannot be mistaken for anything else. Throws for one that leads elsewhere. */
export function encodedPath(path: string): string {
  return path.split('/').map(encodedName).join('/');
}

/** One name of a path, slashes and all. */
export function encodedName(name: string): string {
  if (!/^\.{0,2}$/.test(name)) return encodeURIComponent(name);
  const shown = JSON.stringify(name);
  throw fault('invalid_request', `the model's name has ${shown} in it, which is no name in a path`);
}
