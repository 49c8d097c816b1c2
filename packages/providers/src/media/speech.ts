import type { JsonObject } from '@millrace/core';
import type {
  MediaContent,
  Speech,
  SpeechModel,
  SpeechOptions,
  SpeechRequest,
} from '../contract/media.ts';
import { fault } from '../errors/wire-fault.ts';
import type { ChatPreset } from '../openai-chat/options.ts';
import { assertProviderOptions } from '../wire/api-options.ts';
import {
  checkTextInput,
  type MediaApiOptions,
  mediaUsage,
  readJsonAnswer,
  withCallOptions,
} from './media-client.ts';
import { openMediaModel } from './openai-endpoint.ts';

/**
 * Converts a text to speech. Throws a `ProviderError`.
 *
 * @example
 * const model = openaiSpeech({ model: 'gpt-4o-mini-tts' });
 * const { audio } = await speak(model, 'It is sunny in Oslo.', { voice: 'coral', format: 'mp3' });
 */
export async function speak(
  model: SpeechModel,
  text: string,
  options: SpeechOptions = {},
): Promise<Speech> {
  assertProviderOptions('speak', options, {
    ...{ signal: true, providerOptions: true, voice: true, format: true },
    ...{ instructions: true, speed: true },
  });
  checkTextInput(model.provider, 'text', text);
  return model.speak({ ...options, text });
}

/** Options of `openaiSpeech`. */
export interface OpenaiSpeechOptions extends MediaApiOptions {
  /** The server. Default: `openai`. If the options contain a base URL but no preset: `compatible`. */
  readonly preset?: SpeechPreset | undefined;
}

/** The servers that have OpenAI's endpoint `/audio/speech`. */
export type SpeechPreset = Extract<
  ChatPreset,
  'compatible' | 'openai' | 'azure' | 'groq' | 'together' | 'litellm'
>;

const speechPresets: readonly SpeechPreset[] = [
  ...(['compatible', 'openai', 'azure', 'groq', 'together', 'litellm'] as const),
];

/**
 * Creates a speech model of OpenAI or of a compatible server. The API reports no usage.
 *
 * @example
 * const model = openaiSpeech({ model: 'gpt-4o-mini-tts' });
 */
export function openaiSpeech(options: OpenaiSpeechOptions): SpeechModel {
  const { provider, model, info, client, http } = openMediaModel(
    { of: 'openaiSpeech', path: 'audio/speech', presets: speechPresets },
    options,
  );
  return {
    provider,
    model,
    speak: (request) =>
      client.call({
        signal: request.signal,
        http: () => http(bodyOf(provider, model, request)),
        read: (bytes, { headers }) => {
          const type = headers.get('content-type') ?? '';
          // Some gateways report an error with the status 200.
          if (/\bjson\b/i.test(type)) readJsonAnswer(bytes);
          return {
            audio: audioOf(bytes, type, request.format ?? 'mp3'),
            usage: mediaUsage(undefined, info),
          };
        },
      }),
  };
}

function bodyOf(provider: string, model: string, request: SpeechRequest): JsonObject {
  const { text, voice = 'alloy', format, instructions, speed } = request;
  const body = {
    ...{ model, input: text, voice },
    ...(format === undefined ? {} : { response_format: format }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(speed === undefined ? {} : { speed }),
  };
  return withCallOptions(provider, body, request, ['model', 'input', 'stream_format']);
}

const audioTypes: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

/**
 * Creates a recording. Its type is the type that the server reported, or otherwise the type of the format.
 * Throws if the answer is not audio.
 */
export function audioOf(bytes: Uint8Array, reported: string, format: string): MediaContent {
  const [type = ''] = reported.toLowerCase().split(';');
  const isOther = /^(?:text\/|application\/(?!octet-stream|ogg))/.test(type.trim());
  if (bytes.length === 0 || isOther) {
    const found = bytes.length === 0 ? 'empty' : `of the type ${type.trim()}`;
    throw fault('protocol_error', `the answer is not a recording: it is ${found}`);
  }
  const isAudio = /^(?:audio|video)\//.test(type.trim());
  const known = Object.hasOwn(audioTypes, format) ? audioTypes[format] : undefined;
  return { bytes, mimeType: isAudio ? type.trim() : (known ?? 'application/octet-stream') };
}
