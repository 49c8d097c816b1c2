import { assertOptionNames, type OptionNames } from '@millrace/core';
import { ProviderError } from '../contract/provider-error.ts';
import { fault } from '../errors/wire-fault.ts';
import type { ModelInfoOptions } from '../models/model-info.ts';
import type { TransportOptions } from '../transport/transport-options.ts';

/** Options for every HTTP provider. They are read only once, when the provider is created. */
export interface ApiOptions extends TransportOptions, ModelInfoOptions {
  /** The model's name in the API. */
  readonly model: string;
  /**
   * The API key. Default: the provider's environment variable. The key from the environment is also sent to a
   * custom `baseUrl`. The preset `compatible` has no environment variable.
   */
  readonly apiKey?: string | undefined;
  /**
   * The base URL of the API. The query of the base URL is sent with each request. Default: the URL of the
   * provider's public API.
   */
  readonly baseUrl?: string | URL | undefined;
  /**
   * Headers for every request. They replace default headers of the same name. The value `undefined` removes a
   * default header. Default: none.
   */
  readonly headers?: HeaderOptions | undefined;
  /**
   * Further values that errors and details of an answer must not contain, for example a key in the path of
   * `baseUrl`. The API key, and secrets in headers and in the query, need not be listed. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
}

/** The names of the options of every HTTP provider. */
export const apiOptionNames: OptionNames<ApiOptions> = {
  model: true,
  apiKey: true,
  baseUrl: true,
  headers: true,
  secrets: true,
  fetch: true,
  clock: true,
  timeouts: true,
  maxConcurrentRequests: true,
  maxEventLength: true,
  limits: true,
  sendsTrace: true,
  models: true,
  info: true,
};

/** Throws if an option is unknown. Without this check, a misspelled option would be ignored. */
export function assertProviderOptions<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message) => {
    return new ProviderError('invalid_request', message, { provider: of });
  });
}

/**
 * Returns an environment variable, or undefined if it is missing or empty. Browsers have no
 * environment variables.
 */
export function environmentVariable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

/**
 * Returns the key from the options, or from the first environment variable that is set. Returns undefined if
 * there is no key or the key is empty.
 */
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

/**
 * Throws if the secret is not a string. Without this check, for example, a promise would be sent as `[object
 * Promise]`.
 */
export function checkSecret(option: string, secret: unknown): string | undefined {
  if (secret === undefined || secret === null) return undefined;
  if (typeof secret === 'string') return secret;
  const what = secret instanceof Promise ? 'promise' : typeof secret;
  throw fault('auth', `${option} is a ${what}; it must be a string`);
}

/**
 * The headers of every streaming request. They turn compression off, because compression delays the events.
 */
export const streamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  'accept-encoding': 'identity',
};

/**
 * Copies the options, so that later changes by the caller have no effect. Throws if the model has
 * no name.
 */
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

/**
 * Copies the value of an option. Together with the copy of the options object, this copies two levels, and
 * the package reads no deeper levels. Class instances belong to the caller and are not copied.
 */
function copyOptionValue(value: unknown): unknown {
  if (Array.isArray(value)) return [...value];
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) === Object.prototype) return { ...value };
  // This check comes last, because the class `Headers` loads Node's HTTP client, which takes about 30 ms.
  return value instanceof Headers ? new Headers(value) : value;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/**
 * Headers that the caller sets. `undefined` removes a default header. Names are case-insensitive.
 */
export type HeaderOptions =
  | Readonly<Record<string, string | undefined>>
  | Headers
  | readonly (readonly [name: string, value: string | undefined])[];

type HeaderMap = Readonly<Record<string, string | undefined>>;

/**
 * Converts header names to lower case, so that the same header is never sent twice. Throws a `WireFault` if a
 * value is not a string.
 */
export function readHeaders(given: HeaderOptions | undefined): HeaderMap {
  return Object.fromEntries(
    entriesOf(given ?? {}).map(([name, value]) => [
      name.toLowerCase(),
      checkHeaderValue(name, value),
    ]),
  );
}

/**
 * Returns `authorize`. Returns undefined if the caller sets the header `authorization`, or removes it with
 * the value `undefined`.
 */
export function unlessAuthorized<Request>(
  headers: HeaderOptions | undefined,
  authorize: ((request: Request) => Promise<Request>) | undefined,
): ((request: Request) => Promise<Request>) | undefined {
  if (authorize === undefined) return undefined;
  return async (request) =>
    'authorization' in readHeaders(headers) ? request : authorize(request);
}

/** Merges headers. Headers of a later argument replace headers of an earlier one. */
export function mergeHeaders(...layers: readonly HeaderMap[]): Readonly<Record<string, string>> {
  const merged: HeaderMap = Object.assign({}, ...layers);
  return Object.fromEntries(
    Object.entries(merged).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function entriesOf(given: HeaderOptions): readonly (readonly [string, unknown])[] {
  return Symbol.iterator in given ? [...given] : Object.entries(given);
}

function checkHeaderValue(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw fault('invalid_request', `the header ${name} is a ${typeof value}; it must be a string`);
}
