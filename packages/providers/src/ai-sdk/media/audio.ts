import type {
  SpeechModelV3,
  SpeechModelV4,
  TranscriptionModelV3,
  TranscriptionModelV4,
} from '@ai-sdk/provider';
import { fromBase64 } from '@millrace/core';
import type {
  SpeechModel,
  TranscriptionModel,
  TranscriptionRequest,
} from '../../contract/media.ts';
import { fault } from '../../errors/wire-fault.ts';
import { mediaUsage } from '../../media/media-client.ts';
import { audioOf } from '../../media/speech.ts';
import { type AiSdkMediaOptions, aiSdkCaller } from './call-model.ts';

/** A speech model of any package that implements the AI SDK's interface, version 3 or 4. */
export type AiSdkSpeechModel = SpeechModelV3 | SpeechModelV4;

/** A transcription model of any package that implements the AI SDK's interface, version 3 or 4. */
export type AiSdkTranscriptionModel = TranscriptionModelV3 | TranscriptionModelV4;

/**
 * Converts a speech model of any AI SDK provider package. Use the result with `speak` of
 * `@millrace/providers/media`.
 *
 * @example
 * const model = speechFromAiSdk(elevenlabs.speech('eleven_v3'));
 */
export function speechFromAiSdk(
  model: AiSdkSpeechModel,
  options: AiSdkMediaOptions = {},
): SpeechModel {
  const caller = aiSdkCaller('speechFromAiSdk', model, options);
  return {
    provider: caller.provider,
    model: caller.model,
    speak: ({ text, voice, format, instructions, speed, providerOptions, signal }) =>
      caller.call(
        {
          signal,
          call: (extras) =>
            model.doGenerate({
              text,
              ...(voice === undefined ? {} : { voice }),
              ...(format === undefined ? {} : { outputFormat: format }),
              ...(instructions === undefined ? {} : { instructions }),
              ...(speed === undefined ? {} : { speed }),
              ...(providerOptions === undefined ? {} : { providerOptions: { ...providerOptions } }),
              ...extras,
            }),
        },
        ({ audio, response }) => {
          const bytes = typeof audio === 'string' ? fromBase64(audio) : audio;
          const type = response.headers?.['content-type'] ?? '';
          // Some packages read the audio from a JSON response and report that type. Only a type such as
          // `audio/mpeg` describes the audio.
          const reported = /^audio\//i.test(type) ? type : '';
          return {
            audio: audioOf(bytes ?? new Uint8Array(), reported, format ?? 'mp3'),
            usage: mediaUsage(undefined, caller.info),
          };
        },
      ),
  };
}

/**
 * Converts a transcription model of any AI SDK provider package. Use the result with `transcribe` of
 * `@millrace/providers/media`. The SDK's interface has no fields for the language and the prompt. Set them in
 * `providerOptions`.
 *
 * @example
 * const model = transcriptionFromAiSdk(deepgram.transcription('nova-3'));
 */
export function transcriptionFromAiSdk(
  model: AiSdkTranscriptionModel,
  options: AiSdkMediaOptions = {},
): TranscriptionModel {
  const caller = aiSdkCaller('transcriptionFromAiSdk', model, options);
  return {
    provider: caller.provider,
    model: caller.model,
    transcribe: (request) =>
      caller.call(
        {
          signal: request.signal,
          call: (extras) => model.doGenerate({ ...callOptions(model, request), ...extras }),
        },
        (result) => {
          const { text, segments, language, durationInSeconds } = result;
          const words = 'words' in result ? (result.words ?? []) : [];
          return {
            ...{ text, segments, words },
            ...(language === undefined ? {} : { language }),
            ...(durationInSeconds === undefined ? {} : { durationSeconds: durationInSeconds }),
            usage: mediaUsage(undefined, caller.info),
          };
        },
      ),
  };
}

function callOptions(model: AiSdkTranscriptionModel, request: TranscriptionRequest) {
  const { audio, language, prompt, timestamps, providerOptions } = request;
  if (language !== undefined || prompt !== undefined) {
    const way = 'set them in providerOptions';
    throw fault('invalid_request', `the interface has no language and no prompt; ${way}`);
  }
  if (timestamps !== undefined && model.specificationVersion !== 'v4') {
    const way = 'set them in providerOptions, or use a package that implements v4';
    throw fault('invalid_request', `version 3 of the interface has no timestamps; ${way}`);
  }
  return {
    ...{ audio: audio.bytes, mediaType: audio.mimeType },
    ...(timestamps === undefined ? {} : { timestampGranularities: [timestamps] }),
    ...(providerOptions === undefined ? {} : { providerOptions: { ...providerOptions } }),
  };
}
