import { fault } from '../errors/wire-fault.ts';
import type { TransportOptions } from '../transport/transport-options.ts';

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
function environmentVariable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

/** The key of the options, or the environment's first; undefined where there is none, or an empty one. */
export function findApiKey(
  apiKey: string | undefined,
  variables: readonly string[],
): string | undefined {
  const given = checkSecret('apiKey', apiKey);
  return given || variables.map(environmentVariable).find((value) => value !== undefined);
}

export function requireApiKey(apiKey: string | undefined, variables: readonly string[]): string {
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

/** A copy, so that what the caller does to the object later changes nothing. Throws for a model without a name. */
export function copyOptions<Options extends Pick<ApiOptions, 'model' | 'headers'>>(
  options: Options,
): Options {
  const { model } = options;
  if (typeof model !== 'string' || model.trim() === '') {
    throw new TypeError(`Cannot use ${shown(model)} as model: pass its name`);
  }
  const copied = Object.entries(options).map(([name, value]) => [name, copyOptionValue(value)]);
  return Object.fromEntries(copied) as Options;
}

/** Two levels down is as deep as options go that we read. Objects of a class are the caller's. */
function copyOptionValue(value: unknown): unknown {
  if (Array.isArray(value)) return [...value];
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) === Object.prototype) return { ...value };
  // Last, because to name this class is to load Node's HTTP client, some 30 ms.
  return value instanceof Headers ? new Headers(value) : value;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** Of a caller: `undefined` takes a header of ours away. Names may be in any case. */
export type GivenHeaders =
  | Readonly<Record<string, string | undefined>>
  | Headers
  | readonly (readonly [name: string, value: string | undefined])[];

type HeaderMap = Readonly<Record<string, string | undefined>>;

/** The same with names in one case, so that none is sent twice. Throws a `WireFault` for what is none. */
export function readHeaders(given: GivenHeaders | undefined): HeaderMap {
  return Object.fromEntries(
    entriesOf(given ?? {}).map(([name, value]) => [
      name.toLowerCase(),
      checkHeaderValue(name, value),
    ]),
  );
}

/** All of them, the later over the earlier. */
export function mergeHeaders(...layers: readonly HeaderMap[]): Readonly<Record<string, string>> {
  const merged: HeaderMap = Object.assign({}, ...layers);
  return Object.fromEntries(
    Object.entries(merged).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function entriesOf(given: GivenHeaders): readonly (readonly [string, unknown])[] {
  return Symbol.iterator in given ? [...given] : Object.entries(given);
}

function checkHeaderValue(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw fault('invalid_request', `the header ${name} is a ${typeof value}; it must be a string`);
}
