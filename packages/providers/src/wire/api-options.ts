import { fault } from '../errors/wire-fault.ts';
import type { TransportOptions } from '../transport/transport-options.ts';
import type { GivenHeaders } from './merge-headers.ts';

/** What every provider that speaks HTTP takes. It is read once, when the provider is made. */
export interface ApiOptions extends TransportOptions {
  readonly model: string;
  /**
   * Else the environment's, if the provider is one that has a name: its key goes to `baseUrl` too. A
   * `compatible` server, of which nothing is known, is sent no key but this one.
   */
  readonly apiKey?: string | undefined;
  /** A query that it has is sent with each request. */
  readonly baseUrl?: string | URL | undefined;
  /** Sent with each request, over ours; `undefined` takes one of ours away. */
  readonly headers?: GivenHeaders | undefined;
}

/** A variable of the environment, where there is one: browsers have none. */
function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

/** The key of the options, or the environment's first; undefined where there is none, or an empty one. */
export function findApiKey(
  apiKey: string | undefined,
  variables: readonly string[],
): string | undefined {
  const given = checkSecret('apiKey', apiKey);
  return given || variables.map(variable).find((value) => value !== undefined);
}

export function needApiKey(apiKey: string | undefined, variables: readonly string[]): string {
  const key = findApiKey(apiKey, variables);
  if (key !== undefined) return key;
  const orSet = variables.length === 0 ? '' : ` or set ${variables.join(' or ')}`;
  throw fault('auth', `there is no API key: pass apiKey${orSet}`);
}

/** Throws for what is no text, and would be sent as `[object Promise]`. */
export function checkSecret(option: string, secret: unknown): string | undefined {
  if (secret === undefined || secret === null) return undefined;
  if (typeof secret === 'string') return secret;
  const what = secret instanceof Promise ? 'promise' : typeof secret;
  throw fault('auth', `${option} is a ${what}; it must be a string`);
}

/** What every request for a stream has. Compressed streams come late, so none is asked for. */
export const streamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  'accept-encoding': 'identity',
};
