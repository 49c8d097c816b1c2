import { encodeTranscript, type JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { DescribedRequest, Provider, Stream } from '../contract/provider.ts';
import { complete } from './complete.ts';

/** A provider, of what streams. */
export function createProvider(
  id: string,
  model: string,
  stream: Stream,
  describe?: Provider['describe'],
): Provider {
  return {
    id,
    model,
    stream,
    complete: (request, options) => complete({ id, stream }, request, options),
    ...(describe && { describe }),
  };
}

/** The request in our own words: what a provider is handed, where nobody knows what it makes of it. */
export function describePlainly({ items, ...rest }: ModelRequest): DescribedRequest {
  const transcript = JSON.parse(encodeTranscript(items)) as { readonly items: JsonObject[] };
  const settings = JSON.parse(JSON.stringify(rest)) as JsonObject;
  return { method: 'POST', body: { ...settings, items: transcript.items } };
}
