import type { JsonObject } from '@millrace/core';
import type { EmbeddingModel, EmbeddingRequest, Embeddings } from '../contract/media.ts';
import type { ModelInfo } from '../contract/model-info.ts';
import { requestTo } from '../gemini/request.ts';
import { arrayIn, countIn, objectIn, objectsIn } from '../json/fields.ts';
import { knownModelInfo } from '../models/known-traits.ts';
import { assertProviderOptions, copyOptions, requireApiKey } from '../wire/api-options.ts';
import { encodedPath, readBaseUrl } from '../wire/base-url.ts';
import {
  createMediaClient,
  type MediaApiOptions,
  mediaOptionNames,
  mediaUsage,
  readJsonAnswer,
  withCallOptions,
} from './media-client.ts';
import { checkVectorCount, vectorOf } from './openai-embedding.ts';
import { plainRequest } from './openai-endpoint.ts';

/**
 * Options of `geminiEmbedding`. Default of `apiKey`: the environment variable `GEMINI_API_KEY` or
 * `GOOGLE_API_KEY`.
 */
export type GeminiEmbeddingOptions = MediaApiOptions;

/**
 * Creates an embedding model of the Gemini API. To set the purpose of the vectors, use
 * `providerOptions: { google: { taskType } }`.
 *
 * @example
 * const model = geminiEmbedding({ model: 'gemini-embedding-001' });
 */
export function geminiEmbedding(given: GeminiEmbeddingOptions): EmbeddingModel {
  assertProviderOptions('geminiEmbedding', given, mediaOptionNames);
  const { model, apiKey, baseUrl, headers } = copyOptions(given);
  const { base, query } = readBaseUrl(
    baseUrl ?? 'https://generativelanguage.googleapis.com/v1beta',
  );
  const path = model.includes('/') ? model : `models/${model}`;
  const info = knownModelInfo('gemini', model, given);
  const client = createMediaClient('gemini', given);
  const endpoint = {
    query,
    headers,
    keyHeader: 'x-goog-api-key',
    key: () => requireApiKey(apiKey, ['GEMINI_API_KEY', 'GOOGLE_API_KEY']),
  };
  return {
    provider: 'gemini',
    model,
    // The API rejects more than 100 texts in one request.
    maxTexts: 100,
    maxBytes: 2 ** 20,
    maxParallel: 4,
    embed: (request) =>
      client.call({
        signal: request.signal,
        http: () => {
          const url = `${base}/${encodedPath(path)}:batchEmbedContents`;
          return plainRequest(requestTo(endpoint, url, bodyOf(path, request)));
        },
        read: (bytes) => embeddingsIn(readJsonAnswer(bytes), request.texts.length, info),
      }),
  };
}

/** Returns the body of a request. For each text, the API expects a complete request inside the body. */
function bodyOf(model: string, call: EmbeddingRequest): JsonObject {
  const { texts, dimensions } = call;
  const requests = texts.map((text) => {
    const request = {
      model,
      content: { parts: [{ text }] },
      ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
    };
    return withCallOptions('gemini', request, call, ['model', 'content']);
  });
  return { requests };
}

/** Reads the vectors and the usage. The API reports the number of tokens only for some models. */
function embeddingsIn(body: JsonObject, count: number, info: ModelInfo): Embeddings {
  const vectors = objectsIn(body, 'embeddings').map((one) => vectorOf(arrayIn(one, 'values')));
  checkVectorCount(vectors, count);
  const tokens = countIn(objectIn(body, 'usageMetadata'), 'promptTokenCount');
  return { vectors, usage: mediaUsage(tokens === undefined ? undefined : { input: tokens }, info) };
}
