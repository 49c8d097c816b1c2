import { addUsage, noUsage } from '@millrace/core';
import type { EmbeddingModel, Embeddings, EmbedOptions } from '../contract/media.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { assertProviderOptions } from '../wire/api-options.ts';

/**
 * Turns texts into vectors. If there are too many texts for one request, it sends several requests within the
 * limits of the model. Throws a `ProviderError` of the kind `invalid_request` if a text is empty. Otherwise
 * throws the error of the first request that failed after its retries.
 *
 * @example
 * const model = openaiEmbedding({ model: 'text-embedding-3-small' });
 * const { vectors, usage } = await embed(model, ['sunny in Oslo', 'rain in Bergen']);
 */
export async function embed(
  model: EmbeddingModel,
  texts: readonly string[],
  options: EmbedOptions = {},
): Promise<Embeddings> {
  const { provider } = model;
  assertProviderOptions('embed', options, {
    signal: true,
    providerOptions: true,
    dimensions: true,
  });
  checkTexts(provider, texts);
  checkDimensions(provider, options.dimensions);
  const batches = splitTexts(texts, model);
  const answers = await inParallel(batches, model.maxParallel, options.signal, (batch, signal) =>
    model.embed({ ...options, texts: batch, signal }),
  );
  const vectors = answers.flatMap((answer) => answer.vectors);
  const [first] = vectors;
  if (vectors.length !== texts.length || vectors.some(({ length }) => length !== first?.length)) {
    const message = `Cannot use the answer of ${provider}: its vectors do not fit together`;
    throw new ProviderError('protocol_error', message, { provider });
  }
  return { vectors, usage: answers.map(({ usage }) => usage).reduce(addUsage, noUsage) };
}

function checkTexts(provider: string, texts: readonly string[]): void {
  const at = Array.isArray(texts)
    ? texts.findIndex((text) => typeof text !== 'string' || text === '')
    : -1;
  if (Array.isArray(texts) && at < 0) return;
  const what = at < 0 ? 'texts must be an array' : `texts[${at}] is not a text, or it is empty`;
  throw new ProviderError('invalid_request', `Cannot embed the texts: ${what}`, { provider });
}

function checkDimensions(provider: string, dimensions: number | undefined): void {
  if (dimensions === undefined || (Number.isSafeInteger(dimensions) && dimensions > 0)) return;
  const message = `Cannot use ${String(dimensions)} as dimensions: use a whole number of 1 or more`;
  throw new ProviderError('invalid_request', message, { provider });
}

type BatchLimits = Pick<EmbeddingModel, 'maxTexts' | 'maxBytes'>;

function splitTexts(texts: readonly string[], limits: BatchLimits): readonly (readonly string[])[] {
  const encoder = new TextEncoder();
  const batches: string[][] = [];
  let batch: string[] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = encoder.encode(text).length;
    if (batch.length === 0 || batch.length >= limits.maxTexts || bytes + size > limits.maxBytes) {
      batch = [];
      bytes = 0;
      batches.push(batch);
    }
    batch.push(text);
    bytes += size;
  }
  return batches;
}

/**
 * Runs `run` for each entry, at most `max` at the same time. The first failure aborts the runs of the other
 * entries.
 */
async function inParallel<Work, Result>(
  all: readonly Work[],
  max: number,
  signal: AbortSignal | undefined,
  run: (work: Work, signal: AbortSignal) => Promise<Result>,
): Promise<readonly Result[]> {
  const stop = new AbortController();
  const abort = () => stop.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < all.length; at = next++) {
      const work = all[at];
      if (work !== undefined) results[at] = await run(work, stop.signal);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(max, all.length) }, worker));
    return results;
  } catch (error) {
    next = all.length;
    stop.abort(error);
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
