import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import { defineTool } from '@millrace/agent';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { tool as aiTool, generateText, stepCountIs, streamText } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { serveOpenAi } from '../../testing/openai-client.ts';

// Clients of other projects, with their own validation of replies and events.

const input = z.object({ town: z.string() });
const thinking = { kind: 'reasoning', form: 'full', text: 'Let me think.' } as const;
const calls = [
  thinking,
  toolCall('weather', { town: 'Bath' }, 'c1'),
  toolCall('weather', { town: 'York' }, 'c2'),
];
const resultsIn: ScriptEntry = ({ items }) =>
  items
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.kind === 'tool_result' ? part.text : []))
    .join(', ');

const providers = [
  [
    '@ai-sdk/openai',
    (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).responses('helper'),
  ],
  [
    '@ai-sdk/openai for chat completions',
    (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).chat('helper'),
  ],
  [
    '@ai-sdk/open-responses',
    (url: string) =>
      createOpenResponses({ name: 'millrace', url: `${url}/v1/responses` })('helper'),
  ],
] as const;

describe.each(providers)('24.3: %s', (name, modelAt) => {
  const weather = aiTool({
    description: 'Returns the weather',
    inputSchema: input,
    execute: async ({ town }) => `sun in ${town}`,
  });

  test('gets a text with reasoning', async () => {
    const { url } = await serveOpenAi([[thinking, 'Hello there.']]);
    const result = streamText({ model: modelAt(url), prompt: 'Hi' });
    expect(await result.text).toBe('Hello there.');
    expect(await result.finishReason).toBe('stop');
    if (!name.includes('chat')) expect(await result.reasoningText).toBe('Let me think.');
    expect((await result.usage).totalTokens).toBeGreaterThan(0);
  });

  test('runs parallel tools and gets the answer', async () => {
    const { url } = await serveOpenAi([calls, resultsIn]);
    const result = streamText({
      ...{ model: modelAt(url), system: 'Be kind', prompt: 'Weather?', tools: { weather } },
      stopWhen: stepCountIs(3),
    });
    expect(await result.text).toMatch(/sun in Bath.*, .*sun in York/);
    expect((await result.steps).length).toBe(2);
  });

  test('gets the error of the provider', async () => {
    const fail: ScriptEntry = {
      content: { parts: ['x'] },
      fault: { type: 'error', after: 0, error: 'auth' },
    };
    const { url } = await serveOpenAi([fail]);
    const result = generateText({ model: modelAt(url), prompt: 'Hi', maxRetries: 0 });
    await expect(result).rejects.toThrow();
  });

  test('stops the run when it aborts the request', async () => {
    const endless: ScriptEntry = { content: { parts: ['One two three'] }, pauseMs: 10_000_000 };
    const { url, log } = await serveOpenAi([endless]);
    const stop = new AbortController();
    const result = generateText({
      ...{ model: modelAt(url), prompt: 'Hi', abortSignal: stop.signal, maxRetries: 0 },
    });
    const stops = async () => {
      const [session] = await log.list();
      const { records } = await log.read(session?.session ?? '');
      return records.flatMap(({ fact }) =>
        fact?.type === 'run_finished'
          ? fact.stop.reason
          : fact?.type === 'turn_started'
            ? 'turn'
            : [],
      );
    };
    await expect.poll(async () => (await log.list()).length).toBe(1);
    await expect.poll(stops).toEqual(['turn']);
    stop.abort();
    await expect(result).rejects.toThrow();
    await expect.poll(stops).toEqual(['turn', 'aborted']);
  });
});

describe('24.3: @openai/agents', () => {
  const weather = tool({
    ...{ name: 'weather', description: 'Returns the weather', parameters: input },
    execute: async ({ town }) => `sun in ${town}`,
  });
  const runnerAt = (url: string) =>
    new Runner({
      modelProvider: new OpenAIProvider({
        baseURL: `${url}/v1`,
        apiKey: 'none',
        useResponses: true,
      }),
      tracingDisabled: true,
    });

  test('runs parallel tools and gets the answer', async () => {
    const { url } = await serveOpenAi([calls, resultsIn, calls, resultsIn]);
    const agent = new Agent({
      ...{ name: 'Desk', instructions: 'Be kind', model: 'helper', tools: [weather] },
    });
    const { finalOutput } = await runnerAt(url).run(agent, 'Weather?');
    expect(finalOutput).toBe('sun in Bath, sun in York');
    const streamed = await runnerAt(url).run(agent, 'Weather?', { stream: true });
    await streamed.completed;
    expect(streamed.finalOutput).toBe(finalOutput);
  });

  test('continues with the last response', async () => {
    const count: ScriptEntry = ({ items }) =>
      `${items.filter(({ kind }) => kind === 'user').length}`;
    const { url } = await serveOpenAi([count, count]);
    const agent = new Agent({ name: 'Desk', model: 'helper' });
    const first = await runnerAt(url).run(agent, 'One');
    const previousResponseId = first.lastResponseId ?? '';
    const second = await runnerAt(url).run(agent, 'Two', { previousResponseId });
    expect([first.finalOutput, second.finalOutput]).toEqual(['1', '2']);
  });

  test('does not run the own tools of the agent', async () => {
    const now = defineTool({
      ...{ name: 'now', description: 'Returns the time', input: z.object({}) },
      execute: async () => 'noon',
    });
    const { url } = await serveOpenAi([toolCall('now'), resultsIn], { agent: { tools: [now] } });
    const agent = new Agent({ name: 'Desk', model: 'helper' });
    const { finalOutput, newItems } = await runnerAt(url).run(agent, 'Time?');
    expect(finalOutput).toBe('noon');
    expect(newItems.map(({ type }) => type)).toEqual(['tool_call_item', 'message_output_item']);
  });
});
