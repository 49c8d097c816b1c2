import type { EmbeddingModelV3, EmbeddingModelV4 } from '@ai-sdk/provider';
import type { EmbeddingModel, EmbeddingRequest } from '../../contract/media.ts';
import { fault } from '../../errors/wire-fault.ts';
import { mediaUsage } from '../../media/media-client.ts';
import { checkVectorCount, vectorOf } from '../../media/openai-embedding.ts';
import { type AiSdkMediaOptions, aiSdkCaller } from './call-model.ts';

/** An embedding model of any package that implements the AI SDK's interface, version 3 or 4. */
export type AiSdkEmbeddingModel = EmbeddingModelV3 | EmbeddingModelV4;

/** Options of `embeddingFromAiSdk`. */
export interface AiSdkEmbeddingOptions extends AiSdkMediaOptions {
  /**
   * Maximum number of texts in one request. Default: the limit that the package reports if it is a number,
   * otherwise 100.
   */
  readonly maxTexts?: number | undefined;
}

/**
 * Converts an embedding model of any AI SDK provider package, such as Cohere, Voyage or Bedrock.
 * Use the result with `embed` of `@millrace/providers/media`.
 *
 * @example
 * const model = embeddingFromAiSdk(cohere.embedding('embed-v4.0'));
 */
export function embeddingFromAiSdk(
  model: AiSdkEmbeddingModel,
  options: AiSdkEmbeddingOptions = {},
): EmbeddingModel {
  const { maxTexts = limitOf(model), ...rest } = options;
  const caller = aiSdkCaller('embeddingFromAiSdk', model, rest);
  if (!Number.isSafeInteger(maxTexts) || maxTexts < 1) {
    throw new RangeError(`Cannot use ${maxTexts} as maxTexts: use a whole number of 1 or more`);
  }
  return {
    provider: caller.provider,
    model: caller.model,
    maxTexts,
    maxBytes: 300_000,
    // Some packages report a promise here instead of a boolean. Sequential requests are then used, because
    // every package supports them.
    maxParallel: model.supportsParallelCalls === true ? 4 : 1,
    embed: (request) =>
      caller.call(
        {
          signal: request.signal,
          call: (extras) => model.doEmbed({ ...callOptions(model, request), ...extras }),
        },
        ({ embeddings, usage }) => {
          const vectors = embeddings.map(vectorOf);
          checkVectorCount(vectors, request.texts.length);
          const tokens = usage === undefined ? undefined : { input: usage.tokens };
          return { vectors, usage: mediaUsage(tokens, caller.info) };
        },
      ),
  };
}

/**
 * Returns the maximum number of texts in one request. Returns 100 if the package reports a promise or no
 * limit.
 */
function limitOf({ maxEmbeddingsPerCall }: AiSdkEmbeddingModel): number {
  return typeof maxEmbeddingsPerCall === 'number' && Number.isSafeInteger(maxEmbeddingsPerCall)
    ? maxEmbeddingsPerCall
    : 100;
}

function callOptions(model: AiSdkEmbeddingModel, request: EmbeddingRequest) {
  const { texts, dimensions, providerOptions } = request;
  if (dimensions !== undefined && model.specificationVersion !== 'v4') {
    const way = 'set them in providerOptions, or use a package that implements v4';
    throw fault('invalid_request', `version 3 of the interface has no dimensions; ${way}`);
  }
  return {
    values: [...texts],
    ...(dimensions === undefined ? {} : { dimensions }),
    ...(providerOptions === undefined ? {} : { providerOptions: { ...providerOptions } }),
  };
}
