import type { JsonObject } from '@millrace/core';
import {
  type ApiOptions,
  findApiKey,
  needApiKey,
  streamHeaders,
  withoutTrailingSlash,
} from './api-options.ts';
import type { HttpRequest } from './wire.ts';

/** Where a server is, and how it wants its key. */
export interface Endpoint {
  /** The owner of `providerState`, and the name in errors. Two wires never share one. */
  readonly id: string;
  readonly baseUrl: string;
  /** With {base}, {model} and {apiVersion} in it. */
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

export function httpTo(endpoint: Endpoint, options: ApiOptions, body: JsonObject): HttpRequest {
  const { keyVariables, keyHeader, needsKey } = endpoint;
  const key = (needsKey ? needApiKey : findApiKey)(options.apiKey, keyVariables);
  const shown = keyHeader === 'api-key' ? key : `Bearer ${key}`;
  return {
    url: urlOf(endpoint, options),
    headers: {
      ...streamHeaders,
      ...(key === undefined || shown === undefined ? {} : { [keyHeader]: shown }),
      ...options.headers,
    },
    body,
    secrets: key === undefined ? [] : [key],
  };
}

function urlOf({ url, baseUrl, apiVersion }: Endpoint, options: ApiOptions): string {
  const base = withoutTrailingSlash(options.baseUrl ?? baseUrl);
  // People copy Azure's address with or without the version that its path has anyway.
  const isDoubled = base.endsWith('/v1') && url.startsWith('{base}/v1/');
  const filled: Readonly<Record<string, string>> = {
    base: isDoubled ? base.slice(0, -'/v1'.length) : base,
    model: encodeURIComponent(options.model),
    apiVersion: encodeURIComponent(apiVersion),
  };
  return url.replace(/\{(\w+)\}/g, (_, name: string) => filled[name] ?? '');
}
