import type { JsonObject } from '@millrace/core';
import type { HttpRequest } from '../transport/http-request.ts';
import { checkSecret, requireApiKey } from '../wire/api-options.ts';
import { readBaseUrl, withQuery } from '../wire/base-url.ts';
import type { Wire } from '../wire/wire.ts';
import type { AnthropicOptions } from './options.ts';

/**
 * A service that offers the Messages API: Anthropic or a cloud. The fields describe how its requests differ.
 */
export interface MessagesHost {
  /** The name of the service in the states of parts and in `providerOptions`. */
  readonly provider: string;
  /**
   * The base URL of the service's own API. If the user sets a different base URL, the provider id contains
   * the host name.
   */
  readonly ownBaseUrl?: string | undefined;
  readonly url: (options: AnthropicOptions) => string;
  /** Returns the URL of the files API. Undefined if the service has no files API. */
  readonly filesUrl?: ((options: AnthropicOptions) => string) | undefined;
  /** Returns headers that only this service needs, for example a version header. */
  readonly headers: (options: AnthropicOptions, betas: readonly string[]) => Headers;
  /** Returns the header that contains the key. It is not called if the caller sets such a header. */
  readonly keyHeader: (options: AnthropicOptions) => Headers;
  /** Returns the body fields for the model, the API version and the kind of answer. */
  readonly fields: (options: AnthropicOptions, betas: readonly string[]) => JsonObject;
  /** Returns whether instructions inside the conversation can be sent as system messages. */
  readonly takesSystemMessages: (options: AnthropicOptions) => boolean;
  /** Adds data that expires to a request, such as a signature. See `Wire.authorize`. */
  readonly authorize?: ((request: HttpRequest) => Promise<HttpRequest>) | undefined;
  /** Creates the reader that splits a response into messages. See `Wire.frames`. */
  readonly frames?: Wire['frames'];
}

type Headers = Readonly<Record<string, string>>;

const defaultBaseUrl = 'https://api.anthropic.com';
const defaultVersion = '2023-06-01';
const keyVariables = ['ANTHROPIC_API_KEY'];

/** Anthropic's own API, and gateways that offer the same API. */
export const anthropicHost: MessagesHost = {
  provider: 'anthropic',
  ownBaseUrl: defaultBaseUrl,
  url: (options) => urlAt('messages', options),
  filesUrl: (options) => urlAt('files', options),
  headers: ({ version }, betas) => ({
    'anthropic-version': version ?? defaultVersion,
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
  }),
  keyHeader: ({ apiKey, authToken }) => {
    const token = checkSecret('authToken', authToken);
    if (token !== undefined) return { authorization: `Bearer ${token}` };
    return { 'x-api-key': requireApiKey(apiKey, keyVariables) };
  },
  fields: ({ model }) => ({ model, stream: true }),
  takesSystemMessages: ({ baseUrl }) => baseUrl === undefined,
};

function urlAt(resource: 'messages' | 'files', { baseUrl }: AnthropicOptions): string {
  const { base, query } = readBaseUrl(baseUrl ?? defaultBaseUrl);
  return withQuery(`${base.replace(/\/v1$/, '')}/v1/${resource}`, query);
}
