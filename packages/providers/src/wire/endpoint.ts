import type { JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import { fault } from '../errors/wire-fault.ts';
import { knownModelInfo } from '../models/known-traits.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import {
  type ApiOptions,
  findApiKey,
  mergeHeaders,
  readHeaders,
  requireApiKey,
  streamHeaders,
} from './api-options.ts';
import { encodedName, readBaseUrl, withQuery } from './base-url.ts';

/** The address of a server, and the header in which it expects the API key. */
export interface Endpoint {
  /**
   * The id of the provider. It identifies the owner of `providerState`, and error messages contain it. Each
   * API has a different id.
   */
  readonly id: string;
  /**
   * The default base URL. Undefined if each customer has a different URL. In this case, the option `baseUrl`
   * is required.
   */
  readonly baseUrl: string | undefined;
  /**
   * The URL, as a template with {base}, {model} and {apiVersion}. {azure} is the base URL with the path of
   * Azure.
   */
  readonly url: string;
  /** The URL of the files API, as a template like `url`. Undefined if the server has no files API. */
  readonly filesUrl?: string | undefined;
  /** The value that replaces {apiVersion} in the URL. */
  readonly apiVersion: string;
  /** The names of environment variables that can contain the API key. */
  readonly keyVariables: readonly string[];
  /** True if a request without a key is an error. */
  readonly needsKey: boolean;
  /** The name of the header that contains the API key. */
  readonly keyHeader: 'authorization' | 'api-key';
  /** True if the server reports the cost of each answer. */
  readonly reportsCost: boolean;
}

/**
 * The defaults for an unknown server. No key from the environment is sent to it, because such a key belongs
 * to a different server.
 */
export const unknownEndpoint: Omit<Endpoint, 'id' | 'url'> = {
  baseUrl: 'http://127.0.0.1:8080/v1',
  apiVersion: '',
  keyVariables: [],
  needsKey: false,
  keyHeader: 'authorization',
  reportsCost: false,
};

export function httpRequestTo(
  endpoint: Endpoint,
  options: ApiOptions,
  body: JsonObject,
): HttpRequest {
  const { keyHeader } = endpoint;
  const url = urlOf(endpoint, options);
  const given = readHeaders(options.headers);
  // If the caller sets the header itself, no key is needed.
  const key =
    keyHeader in given ? undefined : apiKeyFor(endpoint, options, 'authorization' in given);
  const shown = keyHeader === 'api-key' ? key : `Bearer ${key}`;
  return {
    url,
    headers: mergeHeaders(streamHeaders, key === undefined ? {} : { [keyHeader]: shown }, given),
    body,
    secrets: key === undefined ? [] : [key],
  };
}

/**
 * Returns a function that creates the HTTP request to the files API of a server, without a body. Throws a
 * TypeError if the server has no files API.
 */
export function filesRequestTo(endpoint: Endpoint, options: ApiOptions): () => HttpRequest {
  const { id, filesUrl } = endpoint;
  if (filesUrl === undefined) {
    throw new TypeError(`Cannot use uploads with ${id}: it has no files API; leave the option out`);
  }
  return () => httpRequestTo({ ...endpoint, url: filesUrl }, options, {});
}

function apiKeyFor(
  { keyVariables, needsKey, baseUrl }: Endpoint,
  { apiKey, baseUrl: given }: ApiOptions,
  isAuthorized: boolean,
): string | undefined {
  // Any user of the machine can listen on the default port of a local server. A key of the environment is
  // sent only to an address that the caller chose.
  const isGuessed = given === undefined && baseUrl?.startsWith('http://127.0.0.1:') === true;
  const variables = isGuessed ? [] : keyVariables;
  return (needsKey && !isAuthorized ? requireApiKey : findApiKey)(apiKey, variables);
}

function urlOf({ url, baseUrl, apiVersion }: Endpoint, options: ApiOptions): string {
  const given = options.baseUrl ?? baseUrl;
  if (given === undefined) {
    const example = 'https://NAME.openai.azure.com/openai';
    throw fault('invalid_request', `there is no base URL: pass baseUrl, for example ${example}`);
  }
  const { base, query } = readBaseUrl(given);
  const values: Readonly<Record<string, () => string>> = {
    base: () => base,
    azure: () => azureBase(base),
    model: () => encodedName(options.model),
    apiVersion: () => encodeURIComponent(apiVersion),
  };
  const filled = url.replace(/\{(\w+)\}/g, (_, name: string) => values[name]?.() ?? '');
  return withQuery(filled, query);
}

/**
 * Returns Azure's base URL with its path, but without the version. Users copy the URL with or without the
 * path, and sometimes with the version. The template adds the version.
 */
function azureBase(base: string): string {
  return /^[a-z]+:\/\/[^/]+$/i.test(base) ? `${base}/openai` : base.replace(/\/v1$/, '');
}

/**
 * Returns the data about the model at a server. If a preset is used with a different address, it counts as a
 * different server.
 */
export function infoAt({ id, baseUrl, reportsCost }: Endpoint, options: ApiOptions): ModelInfo {
  const isKnownAddress = baseUrl === undefined || id.includes('@');
  const server = isKnownAddress ? id : serverId(id, options.baseUrl, baseUrl);
  const info = knownModelInfo(server, options.model, options);
  return reportsCost ? { ...info, prices: 'reported' } : info;
}

export interface DialectOptions<Dialect, Preset> {
  readonly preset?: Preset | undefined;
  readonly dialect?: Partial<Dialect> | undefined;
  readonly baseUrl?: string | URL | undefined;
}

/**
 * Returns the settings of the preset that the options name, with the changes from the options. If the options
 * contain only a base URL, the id of the server contains its host. Throws for an unknown preset.
 */
export function dialectOf<Dialect extends Endpoint, Preset extends string>(
  presets: { readonly [Name in Preset | 'compatible' | 'openai']: Dialect },
  options: DialectOptions<Dialect, Preset>,
): Dialect {
  const { baseUrl, dialect = {} } = options;
  const preset = options.preset ?? (baseUrl === undefined ? 'openai' : 'compatible');
  if (!Object.hasOwn(presets, preset)) throw unknownPreset(preset, Object.keys(presets));
  const known = presets[preset];
  // A field with the value undefined does not change the preset.
  const changes = Object.entries(dialect).filter(([, value]) => value !== undefined);
  const id = preset === 'compatible' ? serverId(known.id, baseUrl ?? known.baseUrl) : known.id;
  return { ...known, id, ...Object.fromEntries(changes) };
}

function unknownPreset(preset: string, names: readonly string[]): TypeError {
  const list = names.join(', ');
  return new TypeError(`Cannot use preset ${JSON.stringify(preset)}: use one of ${list}`);
}

/**
 * Returns the id of a server. If the server is not the provider's own API, the id contains the host.
 * Otherwise the state of one server could be sent to a different server that has a model of the same name.
 */
export function serverId(id: string, address: string | URL | undefined, own?: string): string {
  const host = hostOf(address);
  return host === undefined || host === hostOf(own) ? id : `${id}@${host}`;
}

function hostOf(address: string | URL | undefined): string | undefined {
  return URL.parse(String(address ?? '').trim())?.host;
}
