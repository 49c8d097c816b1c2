import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { SpeechModelV4, TranscriptionModelV4 } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { generateImage, speak, transcribe } from '../../media/index.ts';
import { embeddingKey } from '../../testing/media/embedding-rules.ts';
import { startMediaServer } from '../../testing/media/media-server.ts';
import { openAiMediaRules, png, recording } from '../../testing/media/openai-media-rules.ts';
import { imageFromAiSdk, speechFromAiSdk, transcriptionFromAiSdk } from '../index.ts';

const retry = { maxAttempts: 2, baseDelayMs: 1 };

test('an image model of an AI SDK package makes pictures', async () => {
  const server = await startMediaServer(openAiMediaRules);
  const options = { name: 'weather', baseURL: `${server.url}/v1`, apiKey: embeddingKey };
  const model = createOpenAICompatible(options).imageModel('gpt-image-1');
  const { images } = await generateImage(imageFromAiSdk(model), 'A lighthouse', { count: 2 });
  expect(images).toEqual(Array(2).fill({ bytes: png, mimeType: 'image/png' }));
  await server.close();
});

const named = { specificationVersion: 'v4', provider: 'test', modelId: 'one' } as const;
const response = { timestamp: new Date(0), modelId: 'one' };

test('a speech model gets the options and is retried', async () => {
  const calls: object[] = [];
  const model: SpeechModelV4 = {
    ...named,
    doGenerate: async ({ abortSignal: _signal, ...options }) => {
      calls.push(options);
      if (calls.length === 1)
        throw Object.assign(new Error('busy'), { statusCode: 503, isRetryable: true });
      return { audio: Buffer.from(recording).toString('base64'), warnings: [], response };
    },
  };
  const options = { voice: 'anna', format: 'wav', speed: 2, instructions: 'calm' };
  const { audio } = await speak(speechFromAiSdk(model, { retry }), 'Hi', options);
  expect(audio).toEqual({ bytes: recording, mimeType: 'audio/wav' });
  const sent = { text: 'Hi', voice: 'anna', outputFormat: 'wav', speed: 2, instructions: 'calm' };
  expect(calls).toEqual([sent, sent]);
});

test('a transcription model gets the recording and returns text with times', async () => {
  const segments = [{ text: 'Hi', startSecond: 0, endSecond: 1 }];
  const model: TranscriptionModelV4 = {
    ...named,
    doGenerate: async ({ audio, mediaType, timestampGranularities }) => {
      expect([audio, mediaType, timestampGranularities]).toEqual([
        recording,
        'audio/mpeg',
        ['segment'],
      ]);
      const rest = { warnings: [], response, language: 'en', durationInSeconds: 1 };
      return { text: 'Hi', segments, ...rest };
    },
  };
  const audio = { bytes: recording, mimeType: 'audio/mpeg' };
  const own = transcriptionFromAiSdk(model, { retry });
  const result = await transcribe(own, audio, { timestamps: 'segment' });
  expect(result).toMatchObject({
    text: 'Hi',
    segments,
    words: [],
    language: 'en',
    durationSeconds: 1,
  });
  await expect(transcribe(own, audio, { language: 'en' })).rejects.toMatchObject({
    kind: 'invalid_request',
  });
});
