import type { MessagesHost } from '../anthropic/host.ts';
import { type AnthropicOptions, anthropicOptionNames } from '../anthropic/options.ts';
import { messagesProvider } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import { vertexHost, vertexPath } from '../gemini/endpoint.ts';
import { assertProviderOptions } from '../wire/api-options.ts';
import { encodedName, readBaseUrl, withQuery } from '../wire/base-url.ts';
import { type GoogleAccessToken, googleAuthorizer } from './google-token.ts';

/** Options of `anthropicVertex`. */
export interface AnthropicVertexOptions
  extends Omit<AnthropicOptions, 'apiKey' | 'authToken' | 'uploads'> {
  /** The id of the Google Cloud project. */
  readonly project: string;
  /** The Google Cloud location, for example `global` or `us-east5`. */
  readonly location: string;
  /**
   * An OAuth token, or a function that returns the current token. The function is called before each request.
   * Default: the package `google-auth-library`, if it is installed, finds the credentials of this machine.
   */
  readonly accessToken?: GoogleAccessToken;
}

const provider = 'anthropic-vertex';
const defaultVersion = 'vertex-2023-10-16';

/**
 * Creates a provider for Claude on Google Cloud (Vertex AI).
 *
 * @example
 * const model = 'claude-sonnet-4-5@20250929';
 * const provider = anthropicVertex({ model, project: 'weather', location: 'global' });
 */
export function anthropicVertex(options: AnthropicVertexOptions): Provider {
  const { apiKey: _key, authToken: _token, uploads: _uploads, ...names } = anthropicOptionNames;
  const own = { ...names, project: true, location: true, accessToken: true } as const;
  assertProviderOptions('anthropicVertex', options, own);
  const { project, location, accessToken, ...rest } = options;
  const host: MessagesHost = {
    provider,
    url: ({ model, baseUrl }) => {
      const { base, query } = readBaseUrl(baseUrl ?? `https://${vertexHost(location)}/v1`);
      const place = `${base}/${vertexPath({ project, location })}`;
      const name = encodedName(model).replaceAll('%40', '@');
      return withQuery(`${place}/publishers/anthropic/models/${name}:streamRawPredict`, query);
    },
    headers: (_, betas) => (betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
    keyHeader: () => ({}),
    // The URL already contains the model, so the body omits it.
    fields: ({ version }) => ({ anthropic_version: version ?? defaultVersion, stream: true }),
    takesSystemMessages: () => false,
    authorize: googleAuthorizer(accessToken),
  };
  return messagesProvider(rest, host);
}
