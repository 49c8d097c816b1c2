import { fault, WireFault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { checkSecret, type GivenHeaders } from '../wire/api-options.ts';

/** One of Google's two doors to the same models. */
export interface GoogleEndpoint extends StateOwner {
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

interface VertexLocation {
  readonly project: string;
  readonly location: string;
}

export function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  const isMultiRegion = location === 'us' || location === 'eu';
  return isMultiRegion
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}

/** Throws for names that would lead to another host or path, and take the token there. */
export function vertexPath({ project, location }: VertexLocation): string {
  return `projects/${checkName('project', project)}/locations/${checkName('location', location)}`;
}

function checkName(option: string, name: unknown): string {
  if (typeof name === 'string' && /^[a-z0-9-]+$/.test(name)) return name;
  throw fault('invalid_request', `${option} must be of small letters, digits and hyphens`);
}

/** The token, or the current one. Throws a `WireFault` where there is none. */
export function requireAccessToken(accessToken: string | (() => string)): string {
  const secret = checkSecret('accessToken', currentToken(accessToken));
  if (!secret) throw fault('auth', 'there is no token: accessToken is empty');
  return secret;
}

function currentToken(accessToken: unknown): unknown {
  if (typeof accessToken !== 'function') return accessToken;
  try {
    return accessToken();
  } catch (error) {
    throw noToken(error);
  }
}

function noToken(cause: unknown): WireFault {
  return new WireFault({ message: 'accessToken threw', codes: [] }, 'auth', { cause });
}
