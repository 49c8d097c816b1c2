import type { JsonObject } from '@millrace/core';
import type { HttpRequest } from '../transport/http-request.ts';
import { checkSecret, requireApiKey } from '../wire/api-options.ts';
import { readBaseUrl, withQuery } from '../wire/base-url.ts';
import type { Wire } from '../wire/wire.ts';
import type { AnthropicOptions } from './options.ts';

/** A place that serves the Messages API, and how requests differ there. */
export interface MessagesHost {
  /** The owner of state, and the name in `providerOptions`. */
  readonly provider: string;
  /** The base URL of the host's own API. Another one is a server of its own, with its host in the id. */
  readonly ownBaseUrl?: string | undefined;
  readonly url: (options: AnthropicOptions) => string;
  /** The URL of the files API. Default: the place has none. */
  readonly filesUrl?: ((options: AnthropicOptions) => string) | undefined;
  /** Headers that only this place needs, such as those with a version. */
  readonly headers: (options: AnthropicOptions, betas: readonly string[]) => Headers;
  /** The header with the key. Not called if the caller sets such a header. */
  readonly keyHeader: (options: AnthropicOptions) => Headers;
  /** Fields of the body that name the model, the version and the kind of answer. */
  readonly fields: (options: AnthropicOptions, betas: readonly string[]) => JsonObject;
  /** Whether instructions inside of the conversation can be system messages. */
  readonly takesSystemMessages: (options: AnthropicOptions) => boolean;
  /** See `Wire.authorize`. */
  readonly authorize?: ((request: HttpRequest) => Promise<HttpRequest>) | undefined;
  /** See `Wire.frames`. */
  readonly frames?: Wire['frames'];
}

type Headers = Readonly<Record<string, string>>;

const defaultBaseUrl = 'https://api.anthropic.com';
const defaultVersion = '2023-06-01';
const keyVariables = ['ANTHROPIC_API_KEY'];

/** Anthropic's own API, and gateways that offer the same. */
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
