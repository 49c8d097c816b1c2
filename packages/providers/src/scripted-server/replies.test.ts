import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createParser } from 'eventsource-parser';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ScriptedServer,
  startScriptedServer,
  type WireName,
  wireEvents,
  wireOfPath,
} from './index.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

/** Posts a valid request of the path's wire, with more fields. */
const post = (path: string, more: object = {}) =>
  fetch(server.url + path, {
    method: 'POST',
    body: JSON.stringify({ ...bodies[wireOfPath(path.replace(/\?.*/, '')) ?? 'gemini'], ...more }),
  });

const messages = [{ role: 'user', content: 'Hello' }];
const bodies: Readonly<Record<WireName, object>> = {
  anthropic: { model: 'm', max_tokens: 9, messages },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  'openai-chat': { model: 'm', messages },
  'openai-responses': { model: 'm', input: 'Hello' },
};

/** The data of a stream without `[DONE]`. */
async function dataOf(response: Response): Promise<readonly string[]> {
  const data: string[] = [];
  createParser({ onEvent: (event) => data.push(event.data) }).feed(await response.text());
  return data.filter((one) => one !== '[DONE]');
}

const usage = { input: 3, output: 2 };
const chatOptions = { stream: true, stream_options: { include_usage: true } };

describe('an answer', () => {
  test.each<[string, WireName, object]>([
    ['/chat/completions', 'openai-chat', chatOptions],
    ['/v1/chat/completions', 'openai-chat', chatOptions],
    ['/responses', 'openai-responses', { stream: true }],
    ['/v1/responses', 'openai-responses', { stream: true }],
    ['/v1/messages', 'anthropic', { stream: true }],
    ['/v1beta/models/m:streamGenerateContent?alt=sse', 'gemini', {}],
  ])('at %s comes as %s streams it, with the model that was asked', async (path, wire, options) => {
    const answer = { reasoning: 'hm', text: 'Hello you', usage };
    server.answer(answer, { pieces: 2 });
    const response = await post(path, options);
    expect(response.status).toBe(200);
    expect(await dataOf(response)).toEqual(
      wireEvents(wire, { ...answer, model: 'm', id: '1' }, { pieces: 2 }),
    );
    server.assertUsedUp();
  });

  test('has unique ids', async () => {
    server.answer({ text: 'a' });
    server.answer({ text: 'b' });
    const ids = [];
    for (let nth = 0; nth < 2; nth += 1) {
      const [first = ''] = await dataOf(await post('/chat/completions', { stream: true }));
      ids.push(JSON.parse(first).id);
    }
    expect(ids).toEqual(['chatcmpl-1', 'chatcmpl-2']);
  });

  test('of a chat has usage only on request', async () => {
    server.answer({ text: 'a', usage });
    const body = await (await post('/chat/completions', { stream: true })).text();
    expect(body).not.toContain('usage');
    expect(body).toMatch(/data: \[DONE\]\n\n$/);
  });

  test('that fails does not send [DONE]', async () => {
    server.answer({ text: 'a', failure: { type: 'server_error', message: 'Broken' } });
    const body = await (await post('/chat/completions', { stream: true })).text();
    expect(body).toMatch(/"error":\{"message":"Broken".*\}\n\n$/);
  });

  test.each([
    ['/nowhere', 'No wire is known at /nowhere'],
    ['/v1/messages', 'send "stream": true'],
    ['/models/m:streamGenerateContent', 'send ?alt=sse'],
  ])('is rejected at %s: %s', async (path, message) => {
    server.answer({ text: 'a' });
    const response = await post(path);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining(message) },
    });
    expect(() => server.assertUsedUp()).toThrow(message);
  });
});

test('a third-party client reads an answer correctly', async () => {
  server.answer(
    {
      reasoning: 'Let me see.',
      text: 'I will look.',
      toolCalls: [
        { id: 'call_a', name: 'look', arguments: '{"at":"it"}' },
        { id: 'call_b', name: 'look', arguments: '{"at":"that"}' },
      ],
      usage: { input: 100, output: 20, cacheRead: 30, reasoning: 5 },
    },
    { pieces: 'characters' },
  );
  const provider = createOpenAICompatible({
    name: 'scripted',
    baseURL: `${server.url}/v1`,
    includeUsage: true,
  });
  const { stream } = await provider.chatModel('m').doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Look' }] }],
  });
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);

  const joined = (type: string) =>
    parts.map((part) => (part.type === type && 'delta' in part ? part.delta : '')).join('');
  expect(joined('reasoning-delta')).toBe('Let me see.');
  expect(joined('text-delta')).toBe('I will look.');
  expect(parts.filter(({ type }) => type === 'tool-call')).toMatchObject([
    { toolCallId: 'call_a', toolName: 'look', input: '{"at":"it"}' },
    { toolCallId: 'call_b', toolName: 'look', input: '{"at":"that"}' },
  ]);
  expect(parts.at(-1)).toMatchObject({
    type: 'finish',
    finishReason: { unified: 'tool-calls' },
    usage: {
      inputTokens: { total: 100, cacheRead: 30 },
      outputTokens: { total: 20, reasoning: 5 },
    },
  });
});
