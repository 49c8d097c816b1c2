import { encodeTranscript, type JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { DescribedRequest, Provider, Stream } from '../contract/provider.ts';

/** Creates a provider from a stream function. `complete` is derived from it. */
export function createProvider(
  id: string,
  model: string,
  stream: Stream,
  describe?: Provider['describe'],
  info?: ModelInfo,
): Provider {
  return {
    id,
    model,
    stream,
    complete: async (request, options) => {
      // An agent streams, so this code loads on demand.
      const { complete } = await import('./complete.ts');
      return complete({ id, stream }, request, options);
    },
    ...(describe && { describe }),
    ...(info && { info }),
  };
}

/**
 * Describes a request in the provider-neutral format. For providers that do not make an HTTP
 * request themselves.
 */
export function describeModelRequest({ items, ...rest }: ModelRequest): DescribedRequest {
  const transcript = JSON.parse(encodeTranscript(items)) as { readonly items: JsonObject[] };
  const settings = JSON.parse(JSON.stringify(rest)) as JsonObject;
  return { method: 'POST', body: { ...settings, items: transcript.items } };
}
