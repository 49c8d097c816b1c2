import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordCassette, replayFetch } from '../cassette/index.ts';
import { embeddingKey } from '../testing/media/embedding-rules.ts';
import { type MediaServer, openAiError, startMediaServer } from '../testing/media/media-server.ts';
import { openAiMediaRules, png, recording } from '../testing/media/openai-media-rules.ts';
import {
  generateImage,
  openaiImage,
  openaiSpeech,
  openaiTranscription,
  speak,
  transcribe,
} from './index.ts';

let server: MediaServer;

beforeEach(async () => {
  server = await startMediaServer(openAiMediaRules);
});

afterEach(() => server.close());

const at = (model: string) => ({
  ...{ model, apiKey: embeddingKey, preset: 'openai', baseUrl: `${server.url}/v1` },
  retry: { baseDelayMs: 1, maxAttempts: 2 },
});
const image = (model = 'gpt-image-1') => openaiImage({ ...at(model), preset: 'openai' });
const speech = () => openaiSpeech({ ...at('gpt-4o-mini-tts'), preset: 'openai' });
const transcription = (model: string, more: { readonly fetch?: typeof fetch } = {}) =>
  openaiTranscription({ ...at(model), preset: 'openai', ...more });
const audio = { bytes: recording, mimeType: 'audio/mpeg' };

describe('generateImage', () => {
  test('returns the bytes with their type, and adds the usage of several requests', async () => {
    const { images, usage } = await generateImage(image(), 'A lighthouse', {
      count: 12,
      size: '1024x1024',
      providerOptions: { openai: { quality: 'high' } },
    });
    expect(images).toHaveLength(12);
    expect(images[11]).toEqual({ bytes: png, mimeType: 'image/png' });
    expect(usage).toMatchObject({ input: 10, output: 1200, estimated: false });
    expect(server.requests).toHaveLength(2);
  });

  test('asks models that can answer with a URL for the bytes', async () => {
    const { images, usage } = await generateImage(image('dall-e-3'), 'A lighthouse', { count: 2 });
    expect(images).toHaveLength(2);
    expect(usage.estimated).toBe(true);
    expect(server.requests).toHaveLength(2);
  });

  test('refuses what the API does not have, before a request', async () => {
    const call = (options: object) => generateImage(image(), 'A lighthouse', options);
    for (const options of [{ seed: 1 }, { count: 0 }, { sise: '1x1' }])
      await expect(call(options)).rejects.toMatchObject({ kind: 'invalid_request' });
    await expect(generateImage(image(), ' ')).rejects.toMatchObject({ kind: 'invalid_request' });
    expect(server.requests).toHaveLength(0);
  });

  test.each([
    ['no picture', { data: [] }],
    ['only a URL', { data: [{ url: 'https://example.com/a.png' }] }],
    ['invalid base64', { data: [{ b64_json: '*' }] }],
  ])('an answer with %s is a protocol error', async (_name, body) => {
    const reply = { body: JSON.stringify(body) };
    server.script(reply, reply);
    const making = generateImage(image(), 'A lighthouse');
    await expect(making).rejects.toMatchObject({ kind: 'protocol_error' });
  });
});

describe('speak', () => {
  test('returns the recording with its type', async () => {
    const spoken = await speak(speech(), 'It is sunny.', {
      voice: 'coral',
      format: 'wav',
      speed: 1.5,
    });
    expect(spoken.audio).toEqual({ bytes: recording, mimeType: 'audio/wav' });
    expect(spoken.usage).toMatchObject({ estimated: true, costs: [] });
  });

  test('errors of the server have their kind, and are retried if that helps', async () => {
    server.script(openAiError(503, 'busy'));
    expect((await speak(speech(), 'Hi')).audio.mimeType).toBe('audio/mpeg');
    await expect(speak(speech(), 'Hi', { voice: 'nobody' })).rejects.toMatchObject({
      ...{ kind: 'invalid_request', status: 400 },
    });
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    ['an error with the status 200', { body: '{"error":{"message":"busy","type":"overloaded"}}' }],
    ['a web page', { headers: { 'content-type': 'text/html' }, body: '<html>' }],
    ['an empty body', { headers: { 'content-type': 'audio/mpeg' } }],
    ['a cut body', { headers: { 'content-length': '99' }, body: 'abc', how: 'cut' as const }],
  ])('%s is no recording', async (_name, reply) => {
    server.script(reply, reply);
    await expect(speak(speech(), 'Hi')).rejects.toMatchObject({
      kind: expect.stringMatching(/^(?:overloaded|protocol_error|network)$/),
    });
  });
});

describe('transcribe', () => {
  test('sends the recording unchanged and returns the text with its usage', async () => {
    const options = {
      language: 'en',
      prompt: 'Weather',
      providerOptions: { openai: { temperature: 0 } },
    };
    expect(await transcribe(transcription('gpt-4o-transcribe'), audio, options)).toMatchObject({
      ...{ text: 'It is sunny.', segments: [], words: [] },
      usage: { input: 14, output: 3, estimated: false },
    });
  });

  test('returns the times of the words', async () => {
    const result = await transcribe(transcription('whisper-1'), audio, { timestamps: 'word' });
    expect(result).toMatchObject({ language: 'english', durationSeconds: 1.5 });
    expect(result.words[2]).toMatchObject({ text: 'sunny', startSecond: 0.8 });
    expect(result.usage.billed).toEqual({ seconds: 2 });
  });

  test('refuses what cannot be sent, before a request', async () => {
    const gpt = transcription('gpt-4o-transcribe');
    const calls = [
      () => transcribe(gpt, audio, { timestamps: 'word' }),
      () => transcribe(gpt, { ...audio, mimeType: 'audio/x"\r\nX: y' }),
      () => transcribe(gpt, { ...audio, bytes: new Uint8Array() }),
      () => transcribe(gpt, audio, { providerOptions: { openai: { include: ['logprobs'] } } }),
      () => transcribe(gpt, audio, { lang: 'en' } as object),
    ];
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({ kind: 'invalid_request' });
    expect(server.requests).toHaveLength(0);
  });

  test('a recorded call is replayed: the same recording gives the same request', async () => {
    const recorder = recordCassette({ secrets: [embeddingKey] });
    const first = await transcribe(transcription('whisper-1', recorder), audio);
    await server.close();
    const fetch = replayFetch(await recorder.settled());
    expect(await transcribe(transcription('whisper-1', { fetch }), audio)).toEqual(first);
  });
});
