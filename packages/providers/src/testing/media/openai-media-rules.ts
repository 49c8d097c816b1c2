import { embeddingKey } from './embedding-rules.ts';
import { fieldsOf, type MediaRules, type MediaServerReply, openAiError } from './media-server.ts';

/** The start of a PNG file. Tests need only its first bytes. */
export const png: Uint8Array = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]);

/**
 * Bytes that are not valid UTF-8. They contain line ends and hyphens, which also occur in a form.
 */
export const recording: Uint8Array = Uint8Array.from([
  ...[0xff, 0xf3, 0x00, 0x0d, 0x0a, 0x2d, 0x2d, 0x0d, 0x0a, 0xc0, 0x80],
]);

/**
 * Answers requests by the rules of OpenAI's `/images/generations`, `/audio/speech` and
 * `/audio/transcriptions`.
 */
export const openAiMediaRules: MediaRules = (request) => {
  const { method, path, headers, body } = request;
  if (headers.authorization !== `Bearer ${embeddingKey}`)
    return openAiError(401, 'Incorrect API key');
  if (method !== 'POST') return openAiError(405, 'Not allowed to POST');
  const type = headers['content-type'] ?? '';
  if (path === '/v1/audio/transcriptions') return transcription(type, body);
  if (type !== 'application/json') return openAiError(415, 'Unsupported content type');
  if (path === '/v1/images/generations') return images(body.toString());
  if (path === '/v1/audio/speech') return speech(body.toString());
  return openAiError(404, 'Invalid URL');
};

function images(text: string): MediaServerReply {
  const names = ['model', 'prompt', 'n', 'size', 'quality', 'response_format', 'output_format'];
  const fields = fieldsOf(text, names);
  if (typeof fields === 'string') return openAiError(400, fields);
  const { model, n = 1, response_format: format } = fields;
  const isGpt = model === 'gpt-image-1';
  if (isGpt && format !== undefined)
    return openAiError(400, "Unknown parameter: 'response_format'.", 'unknown_parameter');
  if (typeof n !== 'number' || n < 1 || n > (model === 'dall-e-3' ? 1 : 10))
    return openAiError(400, "Invalid value for 'n'.");
  const isBase64 = isGpt || format === 'b64_json';
  const image = isBase64
    ? { b64_json: Buffer.from(png).toString('base64') }
    : { url: 'https://example.com/a.png' };
  const usage = { input_tokens: 5, output_tokens: 100 * n, total_tokens: 5 + 100 * n };
  return json({ created: 1, data: Array(n).fill(image), ...(isGpt ? { usage } : {}) });
}

function speech(text: string): MediaServerReply {
  const names = ['model', 'input', 'voice', 'instructions', 'response_format', 'speed'];
  const fields = fieldsOf(text, names);
  if (typeof fields === 'string') return openAiError(400, fields);
  const { input, voice, response_format: format = 'mp3' } = fields;
  if (typeof input !== 'string' || input.length > 4096)
    return openAiError(400, "Invalid 'input': string too long.");
  if (!['alloy', 'coral'].includes(String(voice))) return openAiError(400, "Invalid 'voice'.");
  const types: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav' };
  return { headers: { 'content-type': types[String(format)] ?? 'audio/ogg' }, body: recording };
}

/**
 * Reads a form without a library, so that the test does not depend on the code that wrote the form.
 */
function transcription(type: string, body: Buffer): MediaServerReply {
  const boundary = /^multipart\/form-data; boundary=([\w-]{1,70})$/.exec(type)?.[1];
  if (boundary === undefined) return openAiError(400, 'Could not parse multipart form');
  const parts = body.toString('latin1').split(`--${boundary}`);
  if (parts[0] !== '' || parts.at(-1) !== '--\r\n') return openAiError(400, 'Could not parse form');
  const fields = new Map(parts.slice(1, -1).map(fieldOf));
  const names = ['file', 'model', 'language', 'prompt', 'response_format', 'temperature'];
  const known = [...names, 'timestamp_granularities[]'];
  const extra = [...fields.keys()].find((name) => !known.includes(name));
  if (extra !== undefined) return openAiError(400, `Unrecognized request argument: ${extra}`);
  if (fields.get('file') !== Buffer.from(recording).toString('latin1'))
    return openAiError(400, 'Audio file might be corrupted or unsupported');
  const isVerbose = fields.get('response_format') === 'verbose_json';
  if (isVerbose && fields.get('model') !== 'whisper-1')
    return openAiError(400, "response_format 'verbose_json' is not compatible with model");
  if (!isVerbose) {
    const usage = { type: 'tokens', input_tokens: 14, output_tokens: 3, total_tokens: 17 };
    return json({ text: 'It is sunny.', usage });
  }
  const word = (text: string, start: number) => ({ word: text, start, end: start + 0.4 });
  return json({
    ...{ text: 'It is sunny.', language: 'english', duration: 1.5, task: 'transcribe' },
    words: [word('It', 0), word('is', 0.4), word('sunny', 0.8)],
    usage: { type: 'duration', seconds: 2 },
  });
}

function fieldOf(part: string): readonly [name: string, value: string] {
  const end = part.indexOf('\r\n\r\n');
  const name = /name="([^"]+)"/.exec(part.slice(0, end))?.[1] ?? '';
  const isNamed = name !== 'file' || /filename="audio\.mp3"/.test(part.slice(0, end));
  return [isNamed ? name : 'unnamed file', part.slice(end + 4, -2)];
}

function json(body: object): MediaServerReply {
  return { body: JSON.stringify(body) };
}
