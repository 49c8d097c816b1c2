import type { Owner } from '../history/own-parts.ts';

/** One of Google's two doors to the same models. */
export interface Endpoint extends Owner {
  readonly url: string;
  /** Looked up for each request, because tokens expire. Throws a `WireFault` where there is none. */
  readonly key: () => EndpointKey;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Does it take ids of calls that are not its own? */
  readonly sendsAllIds: boolean;
  readonly streamsArguments: boolean;
}

interface EndpointKey {
  readonly secret: string;
  /** The header that carries it. */
  readonly header: Readonly<Record<string, string>>;
}

/** A path whose names cannot be mistaken for anything else. */
export function encodedPath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
