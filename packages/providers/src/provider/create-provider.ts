import { encodeTranscript, type JsonObject } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { DescribedRequest, Provider, Stream } from '../contract/provider.ts';
import { abortOnReturn, withAbortSignal } from './abort-on-return.ts';
import { hideCredentials } from './hidden-credentials.ts';

/**
 * Creates a provider from a stream function, for an API that this package does not support.
 * `complete` is derived from the stream. The signal of the context is also aborted when the reader
 * stops reading. To check the result, use `conformanceCases` of `@millrace/providers/conformance`.
 *
 * @example
 * const echo = createProvider('echo', 'echo-1', async function* (request, { item, ids }) {
 *   const { id: itemId, turn, attempt } = item;
 *   const writer = new DeltaWriter({ itemId, turn, attempt, ids });
 *   const text = writer.text();
 *   text.append(`${request.items.length} items`);
 *   text.commit();
 *   yield { deltas: writer.take(), end: { stop: { reason: 'stop' }, usage: noUsage } };
 * });
 */
export function createProvider(
  id: string,
  model: string,
  stream: Stream,
  describe?: Provider['describe'],
  info?: ModelInfo,
): Provider {
  const leavable: Stream = (request, context) =>
    abortOnReturn((returned) => stream(request, withAbortSignal(context, returned)));
  return providerOf(id, model, leavable, describe, info);
}

/** Creates a provider from a stream function. The reader of the stream can stop during a read. */
export function providerOf(
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
      // This code loads on demand, because an agent uses only `stream`.
      const { complete } = await import('./complete.ts');
      return complete({ id, stream }, request, options);
    },
    ...(describe && { describe }),
    ...(info && { info }),
  };
}

/**
 * Describes a request in the format of Millrace. Used for providers that do not send HTTP requests
 * themselves.
 */
export function describeModelRequest({ items, ...rest }: ModelRequest): DescribedRequest {
  const transcript = JSON.parse(encodeTranscript(items)) as { readonly items: JsonObject[] };
  const settings = JSON.parse(JSON.stringify(rest)) as JsonObject;
  return { method: 'POST', body: { ...hideCredentials(settings), items: transcript.items } };
}
