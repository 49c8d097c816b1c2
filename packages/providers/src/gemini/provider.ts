import type { Provider } from '../contract/provider.ts';
import type { TransportOptions } from '../transport/transport-options.ts';
import { type ApiOptions, needApiKey, withoutTrailingSlash } from '../wire/api-options.ts';
import { fault } from '../wire/wire-fault.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { type Endpoint, encodedPath } from './endpoint.ts';
import { geminiRequest } from './request.ts';
import { GeminiReader } from './stream.ts';

/** `apiKey` may also be `GEMINI_API_KEY` or `GOOGLE_API_KEY` of the environment. */
export type GeminiOptions = ApiOptions;

export interface VertexOptions extends Omit<ApiOptions, 'apiKey'> {
  readonly project: string;
  /** For instance `global` or `europe-west4`. */
  readonly location: string;
  /** An OAuth token, or what gives the current one: it is asked before each request. */
  readonly accessToken: string | (() => string);
  /** Asks for arguments of calls in pieces, instead of each call in one. */
  readonly streamFunctionCallArguments?: boolean | undefined;
}

const keyVariables = ['GEMINI_API_KEY', 'GOOGLE_API_KEY'];

/**
 * A model behind the Gemini API.
 *
 * @example
 * const provider = gemini({ model: 'gemini-3-flash-preview' });
 * const { text } = await provider.complete({ items });
 */
export function gemini(options: GeminiOptions): Provider {
  const { model, headers, apiKey } = options;
  const base = options.baseUrl ?? 'https://generativelanguage.googleapis.com/v1beta';
  const path = model.includes('/') ? model : `models/${model}`;
  return providerAt(
    {
      provider: 'gemini',
      model,
      url: `${withoutTrailingSlash(base)}/${encodedPath(path)}`,
      key: () => {
        const secret = needApiKey(apiKey, keyVariables);
        return { secret, header: { 'x-goog-api-key': secret } };
      },
      headers,
      sendsAllIds: true,
      streamsArguments: false,
    },
    options,
  );
}

/**
 * The same models on Google Cloud.
 *
 * @example
 * const model = 'gemini-3-flash-preview';
 * const provider = vertex({ model, project: 'tides', location: 'global', accessToken });
 */
export function vertex(options: VertexOptions): Provider {
  const { model, project, location, headers, accessToken } = options;
  const base = options.baseUrl ?? `https://${vertexHost(location)}/v1beta1`;
  const path = model.includes('/') ? model : `publishers/google/models/${model}`;
  return providerAt(
    {
      provider: 'vertex',
      model,
      url: `${withoutTrailingSlash(base)}/${encodedPath(`projects/${project}/locations/${location}/${path}`)}`,
      key: () => {
        const secret = typeof accessToken === 'string' ? accessToken : accessToken();
        if (!secret) throw fault('auth', 'there is none: accessToken is empty');
        return { secret, header: { authorization: `Bearer ${secret}` } };
      },
      headers,
      sendsAllIds: false,
      streamsArguments: options.streamFunctionCallArguments ?? false,
    },
    options,
  );
}

function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  const isMultiRegion = location === 'us' || location === 'eu';
  return isMultiRegion
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}

function providerAt(endpoint: Endpoint, options: TransportOptions): Provider {
  const { provider, model, sendsAllIds } = endpoint;
  const owner = { provider, model, keepsGivenIds: !sendsAllIds };
  return wireProvider(
    {
      provider,
      model,
      http: (request) => geminiRequest(request, endpoint),
      reader: (context) => new GeminiReader(context, owner),
    },
    options,
  );
}
