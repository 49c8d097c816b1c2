import {
  fieldsOf,
  googleError,
  type MediaRules,
  type MediaServerReply,
  openAiError,
} from './media-server.ts';

/** Returns a vector that depends only on the text, so that tests can check the order of vectors. */
export function vectorFor(text: string, dimensions: number): readonly number[] {
  const codes = [...text].map((letter) => letter.codePointAt(0) ?? 0);
  const sum = codes.reduce((total, code) => total + code, 0);
  return Array.from({ length: dimensions }, (_, at) => sum + at / 4);
}

const key = 'sk-test-key-0123456789abcdef';

/** The key that the servers accept. */
export const embeddingKey: string = key;

/**
 * Answers requests by the rules of OpenAI's `/embeddings`. For the user `reverse`, the vectors are
 * in reverse order.
 */
export const openAiEmbeddingRules: MediaRules = ({ method, path, headers, body }) => {
  if (method !== 'POST' || path !== '/v1/embeddings') return openAiError(404, 'Invalid URL');
  if (headers.authorization !== `Bearer ${key}`) return openAiError(401, 'Incorrect API key');
  if (headers['content-type'] !== 'application/json') return openAiError(415, 'Unsupported type');
  const names = ['model', 'input', 'dimensions', 'encoding_format', 'user'];
  const fields = fieldsOf(body.toString(), names);
  if (typeof fields === 'string') return openAiError(400, fields);
  const { model, input, dimensions = 3 } = fields;
  if (model !== 'text-embedding-3-small') return openAiError(404, 'The model does not exist');
  if (!isTexts(input)) return openAiError(400, "'$.input' is invalid.");
  if (input.length > 2048) return openAiError(400, "'$.input' is too long.");
  if (input.join('').length > 300_000) return openAiError(400, 'maximum 300000 tokens per request');
  const data = input.map((text, index) => {
    return { object: 'embedding', index, embedding: vectorFor(text, Number(dimensions)) };
  });
  const tokens = input.join('').length;
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return json({
    object: 'list',
    data: fields['user'] === 'reverse' ? data.reverse() : data,
    model,
    usage,
  });
};

/** Answers requests by the rules of Gemini's `:batchEmbedContents`. */
export const geminiEmbeddingRules: MediaRules = ({ method, path, headers, body }) => {
  const model = 'models/gemini-embedding-001';
  if (method !== 'POST' || path !== `/v1beta/${model}:batchEmbedContents`)
    return googleError(404, 'Not found', 'NOT_FOUND');
  if (headers['x-goog-api-key'] !== key)
    return googleError(400, 'API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT');
  const fields = fieldsOf(body.toString(), ['requests']);
  const requests = typeof fields === 'string' ? undefined : fields['requests'];
  if (!Array.isArray(requests)) return googleError(400, String(fields), 'INVALID_ARGUMENT');
  if (requests.length > 100) {
    const message = 'at most 100 requests can be in one batch';
    return googleError(400, message, 'INVALID_ARGUMENT');
  }
  const names = ['model', 'content', 'taskType', 'title', 'outputDimensionality'];
  const embeddings: object[] = [];
  for (const request of requests) {
    const one = fieldsOf(JSON.stringify(request), names);
    if (typeof one === 'string') return googleError(400, one, 'INVALID_ARGUMENT');
    if (one['model'] !== model)
      return googleError(400, 'model is not the same', 'INVALID_ARGUMENT');
    const content = one['content'] as { readonly parts?: readonly { readonly text: string }[] };
    const text = content.parts?.[0]?.text ?? '';
    if (text === '') return googleError(400, 'content is empty', 'INVALID_ARGUMENT');
    embeddings.push({ values: vectorFor(text, Number(one['outputDimensionality'] ?? 3)) });
  }
  return json({ embeddings });
};

function isTexts(input: unknown): input is readonly string[] {
  return (
    Array.isArray(input) &&
    input.length > 0 &&
    input.every((one) => typeof one === 'string' && one !== '')
  );
}

function json(body: object): MediaServerReply {
  return { body: JSON.stringify(body) };
}
