import { googleAuthorizer } from '../clouds/google-token.ts';
import type { Provider } from '../contract/provider.ts';
import { geminiTraits } from '../models/data/gemini-traits.ts';
import { modelInfo, tableOfText } from '../models/model-info.ts';
import { geminiCounter } from '../tokens/token-counter.ts';
import { createTransport, type TransportOptions } from '../transport/transport-options.ts';
import { withUploads } from '../uploads/with-uploads.ts';
import {
  apiOptionNames,
  assertProviderOptions,
  copyOptions,
  requireApiKey,
  unlessAuthorized,
} from '../wire/api-options.ts';
import { encodedPath, readBaseUrl } from '../wire/base-url.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { takesFile } from './content.ts';
import { type GoogleEndpoint, vertexHost, vertexPath } from './endpoint.ts';
import type { GeminiOptions, VertexOptions } from './options.ts';
import { geminiRequest, requestTo } from './request.ts';
import { GeminiReader } from './stream.ts';

const traits = /* @__PURE__ */ tableOfText(geminiTraits);
const keyVariables = ['GEMINI_API_KEY', 'GOOGLE_API_KEY'];

/**
 * Creates a provider for a model of the Gemini API.
 *
 * @example
 * const provider = gemini({ model: 'gemini-3-flash-preview' });
 * const { text } = await provider.complete({ items });
 */
export function gemini(options: GeminiOptions): Provider {
  const own = { uploads: true, extraTools: true } as const;
  assertProviderOptions('gemini', options, { ...apiOptionNames, ...own });
  const { model, headers, apiKey, baseUrl, extraTools = [] } = copyOptions(options);
  const { base, query } = readBaseUrl(
    baseUrl ?? 'https://generativelanguage.googleapis.com/v1beta',
  );
  const path = model.includes('/') ? model : `models/${model}`;
  const endpoint: GoogleEndpoint = {
    provider: 'gemini',
    model,
    url: () => `${base}/${encodedPath(path)}`,
    query,
    keyHeader: 'x-goog-api-key',
    key: () => requireApiKey(apiKey, keyVariables),
    headers,
    sendsAllIds: true,
    streamsArguments: false,
    extraTools,
    asksForHostedCalls: true,
    info: modelInfo(traits, 'gemini', model, options),
  };
  return withUploads(providerAt(endpoint, options), options.uploads, () => ({
    api: 'gemini',
    provider: endpoint.provider,
    transport: createTransport(options),
    account: () => requestTo(endpoint, `${base}/files`, {}),
    storedType: (type) => (takesFile(type) ? type : undefined),
  }));
}

/**
 * Creates a provider for a Gemini model on Google Cloud (Vertex AI).
 *
 * @example
 * const model = 'gemini-3-flash-preview';
 * const provider = vertex({ model, project: 'weather', location: 'global' });
 */
export function vertex(options: VertexOptions): Provider {
  const { apiKey: _key, ...names } = apiOptionNames;
  assertProviderOptions('vertex', options, {
    ...{ ...names, extraTools: true, project: true, location: true, accessToken: true },
    streamFunctionCallArguments: true,
  });
  const { model, headers, accessToken, baseUrl, extraTools = [], ...rest } = copyOptions(options);
  const { base, query } = readBaseUrl(baseUrl ?? `https://${vertexHost(rest.location)}/v1beta1`);
  const path = model.includes('/') ? model : `publishers/google/models/${model}`;
  return providerAt(
    {
      provider: 'vertex',
      model,
      url: () => `${base}/${vertexPath(rest)}/${encodedPath(path)}`,
      query,
      keyHeader: 'authorization',
      authorize: unlessAuthorized(headers, googleAuthorizer(accessToken)),
      headers,
      sendsAllIds: false,
      streamsArguments: rest.streamFunctionCallArguments ?? false,
      extraTools,
      asksForHostedCalls: false,
      info: modelInfo(traits, 'vertex', model, options),
    },
    options,
  );
}

function providerAt(endpoint: GoogleEndpoint, options: TransportOptions): Provider {
  const { provider, model, sendsAllIds, info, authorize } = endpoint;
  const owner = { provider, model, keepsGivenIds: !sendsAllIds };
  return wireProvider(
    {
      provider,
      model,
      info,
      authorize,
      http: (request) => geminiRequest(request, endpoint),
      // Vertex AI expects a different body for token counts, so only the Gemini API counts tokens here.
      ...(provider === 'gemini' && { tokenCounter: geminiCounter(model) }),
      reader: (context) => new GeminiReader(context, owner),
    },
    options,
  );
}
