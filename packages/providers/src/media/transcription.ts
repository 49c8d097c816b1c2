import type { JsonObject } from '@millrace/core';
import type {
  MediaContent,
  TimedText,
  Transcription,
  TranscriptionModel,
  TranscriptionOptions,
  TranscriptionRequest,
} from '../contract/media.ts';
import type { ModelInfo } from '../contract/model-info.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { fault } from '../errors/wire-fault.ts';
import { countIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import type { ChatPreset } from '../openai-chat/options.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { withForm } from '../uploads/multipart-form.ts';
import { assertProviderOptions } from '../wire/api-options.ts';
import {
  type MediaApiOptions,
  mediaUsage,
  readJsonAnswer,
  withCallOptions,
} from './media-client.ts';
import { openMediaModel } from './openai-endpoint.ts';

/**
 * Converts the words of a recording to text. Throws a `ProviderError`.
 *
 * @example
 * const model = openaiTranscription({ model: 'whisper-1' });
 * const audio = { bytes: await readFile('call.mp3'), mimeType: 'audio/mpeg' };
 * const { text } = await transcribe(model, audio, { language: 'en' });
 */
export async function transcribe(
  model: TranscriptionModel,
  audio: MediaContent,
  options: TranscriptionOptions = {},
): Promise<Transcription> {
  const { provider } = model;
  assertProviderOptions('transcribe', options, {
    ...{ signal: true, providerOptions: true, language: true, prompt: true, timestamps: true },
  });
  if (!(audio?.bytes instanceof Uint8Array) || audio.bytes.length === 0) {
    const message =
      'Cannot transcribe the recording: pass bytes, as a Uint8Array that is not empty';
    throw new ProviderError('invalid_request', message, { provider });
  }
  return model.transcribe({ ...options, audio });
}

/** Options of `openaiTranscription`. */
export interface OpenaiTranscriptionOptions extends MediaApiOptions {
  /** The server. Default: `openai`. If the options contain a base URL but no preset: `compatible`. */
  readonly preset?: TranscriptionPreset | undefined;
}

/** The servers that have OpenAI's endpoint `/audio/transcriptions`. */
export type TranscriptionPreset = Extract<
  ChatPreset,
  'compatible' | 'openai' | 'azure' | 'groq' | 'mistral' | 'together' | 'vllm' | 'litellm'
>;

const transcriptionPresets: readonly TranscriptionPreset[] = [
  ...(['compatible', 'openai', 'azure', 'groq', 'mistral', 'together', 'vllm', 'litellm'] as const),
];

/**
 * Creates a transcription model of OpenAI or of a compatible server. Only Whisper models return
 * times.
 *
 * @example
 * const model = openaiTranscription({ preset: 'groq', model: 'whisper-large-v3-turbo' });
 */
export function openaiTranscription(options: OpenaiTranscriptionOptions): TranscriptionModel {
  const { provider, model, info, client, http } = openMediaModel(
    { of: 'openaiTranscription', path: 'audio/transcriptions', presets: transcriptionPresets },
    options,
  );
  return {
    provider,
    model,
    transcribe: (request) =>
      client.call({
        signal: request.signal,
        http: () => formRequest(http({}), fieldsOf(provider, model, request), request.audio),
        read: (bytes) => transcriptionIn(readJsonAnswer(bytes), info),
      }),
  };
}

function fieldsOf(provider: string, model: string, request: TranscriptionRequest): JsonObject {
  const { language, prompt, timestamps } = request;
  if (timestamps !== undefined && model.startsWith('gpt-')) {
    throw fault(
      'invalid_request',
      `${model} reports no times; leave timestamps out, or use whisper-1`,
    );
  }
  const fields = {
    model,
    response_format: timestamps === undefined ? 'json' : 'verbose_json',
    ...(timestamps === undefined ? {} : { 'timestamp_granularities[]': timestamps }),
    ...(language === undefined ? {} : { language }),
    ...(prompt === undefined ? {} : { prompt }),
  };
  return withCallOptions(provider, fields, request, ['model', 'file', 'response_format', 'stream']);
}

/** The file extension for each media type. Servers use the extension to choose a decoder. */
const endings: Readonly<Record<string, string>> = {
  ...{ 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3', 'audio/mp4': 'm4a', 'audio/x-m4a': 'm4a' },
  ...{ 'audio/m4a': 'm4a', 'video/mp4': 'mp4', 'audio/wav': 'wav', 'audio/x-wav': 'wav' },
  ...{ 'audio/wave': 'wav', 'audio/webm': 'webm', 'video/webm': 'webm', 'audio/ogg': 'ogg' },
  ...{ 'audio/opus': 'ogg', 'audio/flac': 'flac', 'audio/x-flac': 'flac' },
};

/**
 * Returns a request that contains a form. The boundary depends only on the content, so a cassette recognizes
 * the same request.
 */
async function formRequest(
  request: HttpRequest,
  fields: JsonObject,
  { bytes, mimeType }: MediaContent,
): Promise<HttpRequest> {
  const [type = ''] = String(mimeType).toLowerCase().split(';');
  const ending = Object.hasOwn(endings, type.trim()) ? endings[type.trim()] : undefined;
  if (ending === undefined) {
    const known = Object.keys(endings).join(', ');
    throw fault(
      'invalid_request',
      `the mimeType of the recording is not known; use one of ${known}`,
    );
  }
  const texts = Object.fromEntries(Object.entries(fields).map(formField));
  const seed = new TextEncoder().encode(JSON.stringify(texts));
  const hashes = await Promise.all([seed, bytes].map(hashOf));
  const content = { name: `audio.${ending}`, mimeType: type.trim(), bytes };
  return withForm(request, texts, content, `millrace-${hashes.join('')}`);
}

function formField([name, value]: readonly [string, unknown]): readonly [string, string] {
  const isText =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (isText && /^[\w.[\]-]+$/.test(name)) return [name, String(value)];
  const way = 'use a text, a number or true and false';
  throw fault('invalid_request', `providerOptions.${name} cannot be a field of a form; ${way}`);
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  const short = new Uint8Array(hash).subarray(0, 12);
  return [...short].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function transcriptionIn(body: JsonObject, info: ModelInfo): Transcription {
  const { text, duration } = body;
  if (typeof text !== 'string') throw fault('protocol_error', 'the answer has no text');
  const language = textIn(body, 'language');
  return {
    text,
    segments: objectsIn(body, 'segments').map((one) => timedText(one, 'text')),
    words: objectsIn(body, 'words').map((one) => timedText(one, 'word')),
    ...(language === undefined ? {} : { language }),
    ...(typeof duration === 'number' ? { durationSeconds: duration } : {}),
    usage: usageIn(objectIn(body, 'usage'), info),
  };
}

function timedText(part: JsonObject, field: string): TimedText {
  const [start, end] = [Number(part['start']), Number(part['end'])];
  const text = part[field];
  if (typeof text === 'string' && Number.isFinite(start) && Number.isFinite(end))
    return { text, startSecond: start, endSecond: end };
  throw fault('protocol_error', 'the answer has a part without times');
}

function usageIn(usage: JsonObject | undefined, info: ModelInfo): Transcription['usage'] {
  const seconds = countIn(usage, 'seconds');
  if (seconds !== undefined) return mediaUsage({ billed: { seconds } }, info);
  const [input, output] = [countIn(usage, 'input_tokens'), countIn(usage, 'output_tokens')];
  const isKnown = input !== undefined && output !== undefined;
  return mediaUsage(isKnown ? { input, output } : undefined, info);
}
