import type { Owner } from '../history/own-parts.ts';
import type { GivenHeaders } from '../wire/merge-headers.ts';

/** One of Google's two doors to the same models. */
export interface Endpoint extends Owner {
  /** Of the model. Throws a `WireFault` where its name, or the project's, leads elsewhere. */
  readonly url: () => string;
  /** Of the base URL. */
  readonly query: string;
  /** The header that carries the key. Whoever gives it needs no key. */
  readonly keyHeader: string;
  /** Looked up for each request, because tokens expire. Throws a `WireFault` where there is none. */
  readonly key: () => EndpointKey;
  readonly headers: GivenHeaders | undefined;
  /** Does it take ids of calls that are not its own? */
  readonly sendsAllIds: boolean;
  readonly streamsArguments: boolean;
}

interface EndpointKey {
  readonly secret: string;
  /** As the header has it. */
  readonly shown: string;
}
