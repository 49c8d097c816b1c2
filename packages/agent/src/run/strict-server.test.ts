import { type JsonValue, type MediaPart, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { anthropic, gemini, openaiChat, openaiResponses, type Provider } from '@millrace/providers';
import {
  answerReply,
  type ScriptedReply,
  type ScriptedServer,
  startScriptedServer,
  type WireAnswer,
} from '@millrace/providers/scripted-server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fewOf, isFull } from '../../../core/src/testing/runs.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';

// The scripted server rejects what the real providers reject. An agent with tools and an output
// schema must work on each wire, also after wrong answers, failed streams and in later runs.

let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

const session = sessionId('s');
const apiKey = 'key-of-nobody';

/** The scripted server has no endpoint that tells the window of a model, as Ollama has. */
const withoutWindow: typeof fetch = (url, init) =>
  String(url).includes('/api/')
    ? Promise.resolve(new Response(null, { status: 404 }))
    : fetch(url, init);

/** `npm run test:full` also runs those that hardly differ from the others. */
const chatPresets = (
  ['openai', 'mistral', 'deepseek', 'ollama', 'openrouter', 'litellm'] as const
).slice(0, isFull ? 6 : 4);

const models: readonly (readonly [string, (baseUrl: string) => Provider])[] = [
  ...chatPresets.map(
    (preset) =>
      [
        `Chat Completions of ${preset}`,
        (baseUrl: string) =>
          openaiChat({ model: 'm', preset, apiKey, baseUrl, fetch: withoutWindow }),
      ] as const,
  ),
  [
    'a reasoning model',
    (baseUrl) => openaiChat({ model: 'gpt-5', preset: 'openai', apiKey, baseUrl }),
  ],
  ...['gpt-4.1', 'gpt-5.4'].map(
    (model) =>
      [
        `Responses of ${model}`,
        (baseUrl: string) => openaiResponses({ model, preset: 'openai', apiKey, baseUrl }),
      ] as const,
  ),
  ['another server of Responses', (baseUrl) => openaiResponses({ model: 'm', apiKey, baseUrl })],
  ...['claude-3-5-haiku-latest', 'claude-sonnet-4-5', 'claude-sonnet-4-6', 'claude-opus-5'].map(
    (model) => [model, (baseUrl: string) => anthropic({ model, apiKey, baseUrl })] as const,
  ),
  [
    'claude-opus-4-8 with system messages',
    (baseUrl) => anthropic({ model: 'claude-opus-4-8', systemMessages: true, apiKey, baseUrl }),
  ],
  ...['gemini-2.5-flash', 'gemini-3-pro-preview'].map(
    (model) => [model, (baseUrl: string) => gemini({ model, apiKey, baseUrl })] as const,
  ),
];

const tide = defineTool({
  name: 'get_tide',
  description: 'Tells the tide of a port',
  input: z.object({ port: z.string(), day: z.string().optional() }),
  execute: async ({ port }) => `${port}: at six`,
});
const png: MediaPart = {
  kind: 'media',
  mimeType: 'image/png',
  source: { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) },
};
const chart = defineTool({
  name: 'show_chart',
  description: 'Shows the chart of a port',
  input: z.object({ port: z.string().min(1) }),
  execute: async () => ({ output: { text: 'The chart', attachments: [png] } }),
});

const output = z.object({
  times: z.array(z.object({ port: z.string(), height: z.number().optional() })),
  note: z.string().optional(),
});
const right = { times: [{ port: 'Brest', height: 4 }, { port: 'Ostend' }] };

const agentOf = (provider: Provider, options: Partial<AgentOptions> = {}) =>
  createAgent({
    ...{ provider, tools: [tide, chart], output, log: memoryLog(), ...options },
    instructions: 'Answer about tides.',
    request: { reasoning: 'high' },
    retry: { baseDelayMs: 1, maxAttempts: 2 },
  });

/** An answer in JSON, in the form that the request asks for: as text, or as a call of a tool. */
const answerWith =
  (value: JsonValue): ScriptedReply =>
  (request) => {
    const text = JSON.stringify(value);
    const asksForTool = /"name":"answer","description"/.test(request.text);
    const id = `out_${server.requests.length}`;
    const call = { id: `toolu_${id}`, name: 'answer', arguments: text };
    return answerReply(asksForTool ? { id, toolCalls: [call] } : { id, text }, request);
  };

const thinking = { reasoning: 'Let me see.', signature: 'c2lnbmVk' };
const calls = (first: number): WireAnswer => ({
  ...thinking,
  id: `r${first}`,
  text: 'I look.',
  toolCalls: [
    { id: `call_${first}`, name: 'get_tide', arguments: '{"port":"Brest"}' },
    { id: `call_${first + 1}`, name: 'show_chart', arguments: '{"port":"Brest"}' },
  ],
});

describe.each(fewOf(models, 6))('%s', (_name, providerAt) => {
  test('takes all requests of an agent with tools and an output schema', async () => {
    const agent = agentOf(providerAt(server.url));
    server.answer(calls(1));
    server.reply(answerWith({ times: 'many' }), answerWith(right));
    expect((await agent.run('Tide?', { session }).result).value).toEqual(right);
    server.answer(calls(3));
    server.reply(answerWith(right));
    expect((await agent.run('And tomorrow?', { session }).result).value).toEqual(right);
    server.assertUsedUp();
  });

  test('takes the requests after a stream that failed', async () => {
    const agent = agentOf(providerAt(server.url));
    const broken: WireAnswer = {
      ...thinking,
      text: 'At ',
      failure: { type: 'api_error', message: 'Broken' },
    };
    server.answer(broken);
    server.answer(broken);
    const failed = await agent.run('Tide?', { session }).result;
    expect(failed.stop.reason).toBe('error');
    server.answer(calls(1));
    server.reply(answerWith(right));
    expect((await agent.run('Once more.', { session }).result).value).toEqual(right);
    server.assertUsedUp();
  });

  test('takes the requests after an answer that was cut off and kept, or repeated', async () => {
    const log = memoryLog();
    const provider = providerAt(server.url);
    server.answer(calls(1));
    server.answer({ ...thinking, id: 'cut', text: 'It is at six o’clock.' }, { pieces: 'words' });
    server.reply(answerWith(right));
    await agentOf(provider, { log }).run('Tide?', { session }).result;
    const { records } = await log.read(session);
    const words = records.filter(
      ({ delta }) => delta?.type === 'append_text' && delta.chunk === ' six',
    );
    for (const onInterrupted of ['keep', 'retry'] as const) {
      const forked = sessionId(onInterrupted);
      await log.fork(session, { into: forked, through: words[0]?.offset ?? 0 });
      const agent = agentOf(provider, { log, onInterrupted });
      if (onInterrupted === 'retry') server.reply(answerWith(right));
      await agent.resume(forked).result;
      server.reply(answerWith(right));
      expect((await agent.run('Well?', { session: forked }).result).value).toEqual(right);
    }
    expect(words).toHaveLength(1);
    server.assertUsedUp();
  });
});
