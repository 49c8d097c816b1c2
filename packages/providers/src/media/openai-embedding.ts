import type { JsonObject } from '@millrace/core';
import type { EmbeddingModel, EmbeddingRequest, Embeddings } from '../contract/media.ts';
import type { ModelInfo } from '../contract/model-info.ts';
import { fault } from '../errors/wire-fault.ts';
import { arrayIn, countIn, objectIn, objectsIn } from '../json/fields.ts';
import type { ChatPreset } from '../openai-chat/options.ts';
import {
  type MediaApiOptions,
  mediaUsage,
  readJsonAnswer,
  withCallOptions,
} from './media-client.ts';
import { openMediaModel } from './openai-endpoint.ts';

/** Options of `openaiEmbedding`. */
export interface OpenaiEmbeddingOptions extends MediaApiOptions {
  /** The server. Default: `openai`. If the options contain a base URL but no preset: `compatible`. */
  readonly preset?: EmbeddingPreset | undefined;
}

/** The servers that have OpenAI's endpoint `/embeddings`. */
export type EmbeddingPreset = Exclude<ChatPreset, 'groq' | 'deepseek' | 'xai'>;

const embeddingPresets: readonly EmbeddingPreset[] = [
  ...(['compatible', 'openai', 'azure', 'openrouter', 'mistral', 'together'] as const),
  ...(['ollama', 'vllm', 'llama.cpp', 'lm-studio', 'litellm'] as const),
];

/**
 * Creates an embedding model of OpenAI or of a compatible server, such as Ollama, vLLM or llama.cpp.
 *
 * @example
 * const model = openaiEmbedding({ preset: 'ollama', model: 'nomic-embed-text' });
 */
export function openaiEmbedding(options: OpenaiEmbeddingOptions): EmbeddingModel {
  const { provider, model, info, client, http } = openMediaModel(
    { of: 'openaiEmbedding', path: 'embeddings', presets: embeddingPresets },
    options,
  );
  return {
    provider,
    model,
    // The API accepts 2048 texts. This limit is lower, so that an answer with the longest vectors stays below
    // 64 MiB.
    maxTexts: 512,
    // The API accepts 300,000 tokens. Each token has at least one byte, so this number of bytes is always
    // accepted.
    maxBytes: 300_000,
    maxParallel: 4,
    embed: (request) =>
      client.call({
        signal: request.signal,
        http: () => http(bodyOf(provider, model, request)),
        read: (bytes) => embeddingsIn(readJsonAnswer(bytes), request.texts.length, info),
      }),
  };
}

function bodyOf(provider: string, model: string, request: EmbeddingRequest): JsonObject {
  const { texts, dimensions } = request;
  const body = { model, input: texts, ...(dimensions === undefined ? {} : { dimensions }) };
  return withCallOptions(provider, body, request, ['model', 'input', 'encoding_format']);
}

/** Reads the vectors and the usage. Each entry has an index, because the API does not guarantee an order. */
function embeddingsIn(body: JsonObject, count: number, info: ModelInfo): Embeddings {
  const vectors: (readonly number[])[] = [];
  for (const [position, entry] of objectsIn(body, 'data').entries()) {
    vectors[countIn(entry, 'index') ?? position] = vectorOf(arrayIn(entry, 'embedding'));
  }
  checkVectorCount(vectors, count);
  const tokens = countIn(objectIn(body, 'usage'), 'prompt_tokens');
  return { vectors, usage: mediaUsage(tokens === undefined ? undefined : { input: tokens }, info) };
}

/**
 * Checks that the values are a vector. Throws a fault of the kind `protocol_error` if they are not a vector.
 */
export function vectorOf(values: readonly unknown[]): readonly number[] {
  const isVector = values.length > 0 && values.every((value) => Number.isFinite(value));
  if (!isVector) throw fault('protocol_error', 'the answer has a vector without numbers');
  return values as readonly number[];
}

/** Throws a fault of the kind `protocol_error` if the number of vectors differs from the number of texts. */
export function checkVectorCount(vectors: readonly unknown[], count: number): void {
  const found = Object.keys(vectors).length;
  if (found === count && vectors.length === count) return;
  throw fault('protocol_error', `the answer has ${found} vectors for ${count} texts`);
}
