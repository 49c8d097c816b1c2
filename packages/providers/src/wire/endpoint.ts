import type { JsonObject } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
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

/** Where a server is, and how it wants its key. */
export interface Endpoint {
  /** The owner of `providerState`, and the name in errors. Two wires never share one. */
  readonly id: string;
  /** Undefined where each customer has another: then it must be given. */
  readonly baseUrl: string | undefined;
  /** With {base}, {model} and {apiVersion} in it. {azure} is a base with the path that Azure has. */
  readonly url: string;
  readonly apiVersion: string;
  /** Variables of the environment that may hold the key. */
  readonly keyVariables: readonly string[];
  readonly needsKey: boolean;
  readonly keyHeader: 'authorization' | 'api-key';
}

/** A server that is not known: it gets no key of the environment, which would be another's. */
export const unknownEndpoint: Omit<Endpoint, 'id' | 'url'> = {
  baseUrl: 'http://127.0.0.1:8080/v1',
  apiVersion: '',
  keyVariables: [],
  needsKey: false,
  keyHeader: 'authorization',
};

export function httpRequestTo(
  endpoint: Endpoint,
  options: ApiOptions,
  body: JsonObject,
): HttpRequest {
  const { keyHeader } = endpoint;
  const url = urlOf(endpoint, options);
  const given = readHeaders(options.headers);
  // Whoever gives the header itself needs no key.
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

function apiKeyFor(
  { keyVariables, needsKey }: Endpoint,
  { apiKey }: ApiOptions,
  isAuthorized: boolean,
): string | undefined {
  return (needsKey && !isAuthorized ? requireApiKey : findApiKey)(apiKey, keyVariables);
}

function urlOf({ url, baseUrl, apiVersion }: Endpoint, options: ApiOptions): string {
  const given = options.baseUrl ?? baseUrl;
  if (given === undefined) {
    const example = 'https://NAME.openai.azure.com/openai';
    throw fault('invalid_request', `there is no address: pass baseUrl, for instance ${example}`);
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

/** People copy Azure's address with or without its path, and the version that we name anyway. */
function azureBase(base: string): string {
  return /^[a-z]+:\/\/[^/]+$/i.test(base) ? `${base}/openai` : base.replace(/\/v1$/, '');
}

export interface DialectOptions<Dialect, Preset> {
  readonly preset?: Preset | undefined;
  readonly dialect?: Partial<Dialect> | undefined;
  readonly baseUrl?: string | URL | undefined;
}

/**
 * What is known of the server that the options name: the preset's, with their changes. A server that
 * only a base URL names goes by where it is. Throws for a preset that is not there.
 */
export function dialectOf<Dialect extends Endpoint, Preset extends string>(
  presets: { readonly [Name in Preset | 'compatible' | 'openai']: Dialect },
  options: DialectOptions<Dialect, Preset>,
): Dialect {
  const { baseUrl, dialect = {} } = options;
  const preset = options.preset ?? (baseUrl === undefined ? 'openai' : 'compatible');
  if (!Object.hasOwn(presets, preset)) throw unknownPreset(preset, Object.keys(presets));
  const known = presets[preset];
  // A change that is undefined is none.
  const changes = Object.entries(dialect).filter(([, value]) => value !== undefined);
  const id = preset === 'compatible' ? serverId(known.id, baseUrl ?? known.baseUrl) : known.id;
  return { ...known, id, ...Object.fromEntries(changes) };
}

function unknownPreset(preset: string, names: readonly string[]): TypeError {
  const list = names.join(', ');
  return new TypeError(`Cannot use preset ${JSON.stringify(preset)}: use one of ${list}`);
}

/**
 * The id of a server that is not known, by where it is: what one keeps in a part is not for another
 * that happens to have a model of the same name.
 */
export function serverId(id: string, address: string | URL | undefined): string {
  const given = String(address ?? '').trim();
  return URL.canParse(given) ? `${id}@${new URL(given).host}` : id;
}
