import type { JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import { ProviderError } from '../contract/provider-error.ts';
import type { ChatPreset } from '../openai-chat/options.ts';
import { presets } from '../openai-chat/presets.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { assertProviderOptions, copyOptions } from '../wire/api-options.ts';
import { dialectOf, type Endpoint, httpRequestTo, infoAt } from '../wire/endpoint.ts';
import {
  createMediaClient,
  type MediaApiOptions,
  type MediaClient,
  mediaOptionNames,
} from './media-client.ts';

/** A model that does not chat, at one of OpenAI's endpoints or at a compatible server. */
export interface OpenAiMediaModel {
  readonly provider: string;
  readonly model: string;
  readonly info: ModelInfo;
  readonly client: MediaClient;
  /** Builds a request with a JSON body. Throws a `WireFault` if there is no key. */
  http(body: JsonObject): HttpRequest;
}

/** One of OpenAI's endpoints, with the servers that are known to offer it. */
export interface OpenAiMediaEndpoint<Preset extends ChatPreset> {
  /** The name of the function that creates the model, for error messages. */
  readonly of: string;
  /** The path below the base URL, for example `embeddings`. */
  readonly path: string;
  readonly presets: readonly Preset[];
}

/** Reads the options of a model at one of OpenAI's endpoints. */
export function openMediaModel<Preset extends ChatPreset>(
  { of, path, presets: known }: OpenAiMediaEndpoint<Preset>,
  given: MediaApiOptions & { readonly preset?: Preset | undefined },
): OpenAiMediaModel {
  assertProviderOptions(of, given, { ...mediaOptionNames, preset: true });
  const options = copyOptions(given);
  if (options.preset !== undefined && !known.includes(options.preset)) {
    const message = `Cannot use preset ${JSON.stringify(options.preset)} with ${of}: use one of ${known.join(', ')}`;
    throw new ProviderError('invalid_request', message, { provider: of });
  }
  const { preset, baseUrl } = options;
  const dialect = dialectOf(presets, { preset, baseUrl });
  const isAzure = dialect.url.startsWith('{azure}');
  const url = isAzure
    ? `{azure}/deployments/{model}/${path}?api-version={apiVersion}`
    : `{base}/${path}`;
  const endpoint: Endpoint = { ...dialect, url };
  return {
    provider: dialect.id,
    model: options.model,
    info: infoAt(endpoint, options),
    client: createMediaClient(dialect.id, given),
    http: (body) => plainRequest(httpRequestTo(endpoint, options, body)),
  };
}

/** Removes the headers that request a stream. The answer may then be compressed. */
export function plainRequest(request: HttpRequest): HttpRequest {
  const { accept, 'accept-encoding': encoding, ...headers } = request.headers;
  return {
    ...request,
    headers: {
      ...headers,
      ...(accept === undefined ? {} : { accept: accept === 'text/event-stream' ? '*/*' : accept }),
      ...(encoding === undefined || encoding === 'identity' ? {} : { 'accept-encoding': encoding }),
    },
  };
}
