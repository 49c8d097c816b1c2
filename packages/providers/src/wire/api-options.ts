import type { TransportOptions } from '../transport/transport-options.ts';
import { fault } from './wire-fault.ts';

/** What every provider that speaks HTTP takes. */
export interface ApiOptions extends TransportOptions {
  readonly model: string;
  /** Else the environment's. */
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  /** Sent with each request, over ours. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
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
  return apiKey || variables.map(variable).find((value) => value !== undefined);
}

export function needApiKey(apiKey: string | undefined, variables: readonly string[]): string {
  const key = findApiKey(apiKey, variables);
  if (key !== undefined) return key;
  throw fault('auth', `there is none: pass apiKey or set ${variables.join(' or ')}`);
}

/** What every request for a stream has. Compressed streams come late, so none is asked for. */
export const streamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  'accept-encoding': 'identity',
};

export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
