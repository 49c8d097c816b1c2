import { createOpenAI } from '@ai-sdk/openai';
import { memoryLog } from '@millrace/log';
import {
  errorReply,
  jsonReply,
  type ScriptedServer,
  startScriptedServer,
  streamReply,
  type WireToolCall,
} from '@millrace/providers/scripted-server';
import { generateText, stepCountIs, streamText, type Telemetry, ToolLoopAgent, tool } from 'ai';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { readRecordedRun, sessionsIn } from '../testing/recorded-runs.ts';
import { type AiSdkSessions, aiSdkSessions } from './ai-sdk-sessions.ts';

let server: ScriptedServer;
let log: ReturnType<typeof memoryLog>;
let sessions: AiSdkSessions;
const integration = () => ({ telemetry: { integrations: [sessions satisfies Telemetry] } });
const model = () => createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' }).chat('model-1');

beforeEach(async () => {
  server = await startScriptedServer();
  log = memoryLog();
  sessions = aiSdkSessions({ log, metadata: { cwd: '/orders' } });
  const opened = server;
  onTestFinished(() => opened.close());
});

const weather = tool({
  description: 'Returns the weather',
  inputSchema: z.object({ town: z.string() }),
  execute: async ({ town }) => {
    if (town === 'Atlantis') throw new Error('No such town');
    return `sun in ${town}`;
  },
});
const calls: readonly WireToolCall[] = [
  { id: 'c1', name: 'weather', arguments: '{"town":"Bath"}' },
  { id: 'c2', name: 'weather', arguments: '{"town":"Atlantis"}' },
];

const completion = (message: object, reason: string) =>
  jsonReply(200, {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'model-1' },
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
    usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 },
  });

/** The only session of the log, after all calls ended. */
async function onlySession() {
  await sessions.flush();
  const [session = '', ...others] = await sessionsIn(log);
  expect(others).toEqual([]);
  return readRecordedRun(log, session);
}

describe('25.8: the AI SDK', () => {
  test('streamText with parallel tools becomes a session', async () => {
    server.answer({ text: 'Let me look. ', toolCalls: calls, usage: { input: 20, output: 9 } });
    server.answer({ text: 'Sun in Bath.', usage: { input: 40, output: 4 } });
    const result = streamText({
      ...{ model: model(), instructions: 'Be kind.', prompt: 'Weather?', tools: { weather } },
      ...{ stopWhen: stepCountIs(3), ...integration() },
    });
    expect(await result.text).toBe('Sun in Bath.');
    const { lines, problems, spans, stop, records } = await onlySession();
    expect(problems).toEqual([]);
    expect(stop?.reason).toBe('stop');
    expect(lines).toEqual([
      ...['system: Be kind.', 'user: Weather?', 'assistant: Let me look. '],
      ...['c1: weather({"town":"Bath"})', 'c2: weather({"town":"Atlantis"})'],
      ...[
        'c1: weather = sun in Bath',
        'c2: weather failed Error: No such town',
        'assistant: Sun in Bath.',
      ],
    ]);
    // The two calls run at the same time, so they can end in any order.
    const shown = spans.map(({ kind, name, status }) => `${kind} ${name} ${status}`);
    expect(shown.sort()).toEqual([
      ...['attempt model-1 ok', 'attempt model-1 ok', 'call weather error', 'call weather ok'],
      ...['run Run 1 ok', 'turn Turn 1 ok', 'turn Turn 2 ok'],
    ]);
    expect(spans.flatMap(({ usage }) => usage?.input ?? [])).toEqual([20, 40]);
    expect(spans[2]?.firstContentTime).toBeDefined();
    expect(JSON.stringify(records)).toContain('/orders');
  });

  test('generateText becomes a session, with the retries of a failed request', async () => {
    const soon = { 'retry-after-ms': '1' };
    server.reply(jsonReply(500, { error: { message: 'Broken', type: 'server_error' } }, soon));
    server.reply(completion({ content: 'Hello.' }, 'stop'));
    const { text } = await generateText({
      model: model(),
      prompt: 'Hi',
      maxRetries: 1,
      ...integration(),
    });
    expect(text).toBe('Hello.');
    const { lines, problems, spans } = await onlySession();
    expect(problems).toEqual([]);
    expect(lines).toEqual(['user: Hi', 'assistant: Hello.']);
    expect(spans.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      ...['run ok', 'turn ok', 'attempt discarded', 'retry waiting', 'attempt ok'],
    ]);
    expect(spans.at(-1)?.usage).toMatchObject({ input: 11, output: 3 });
  });

  test('a call that fails becomes a session with the error, without the key', async () => {
    const key = `sk-${'b2'.repeat(20)}`;
    server.reply(errorReply('openai-chat', 401, { type: 'auth', message: `Wrong key ${key}` }));
    const failed = generateText({ model: model(), prompt: 'Hi', ...integration() });
    await expect(failed).rejects.toThrow('Wrong key');
    const { stop, problems, spans, records } = await onlySession();
    expect(problems).toEqual([]);
    expect(stop?.reason).toBe('error');
    expect(spans.at(-1)?.error?.message).toContain('Wrong key [redacted]');
    expect(JSON.stringify(records)).not.toContain(key);
  });

  test('a stream that fails after its start becomes a session with the error', async () => {
    server.answer({ text: 'Half an', failure: { type: 'server_error', message: 'Broken' } });
    const result = streamText({
      ...{ model: model(), prompt: 'Hi', ...integration(), onError: () => {} },
    });
    await result.consumeStream();
    await sessions.close();
    const { stop, problems, spans, lines } = await onlySession();
    expect(problems).toEqual([]);
    expect([stop?.reason, lines[0]]).toEqual(['error', 'user: Hi']);
    expect(spans.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      ...['run error', 'turn error', 'attempt error'],
    ]);
  });

  test('an aborted stream becomes a session that was aborted', async () => {
    server.reply(streamReply([{ type: 'stall' }]));
    const stop = new AbortController();
    const result = streamText({
      ...{ model: model(), prompt: 'Hi', abortSignal: stop.signal, ...integration() },
      onError: () => {},
    });
    const request = server.nextRequest();
    const consumed = result.consumeStream();
    await request;
    stop.abort();
    await consumed;
    await sessions.close();
    const { stop: end, problems, lines } = await onlySession();
    expect(problems).toEqual([]);
    expect(end).toMatchObject({ reason: 'aborted' });
    expect(lines).toEqual(['user: Hi']);
  });

  test('an agent in a tool of another agent becomes the session of a sub-agent', async () => {
    const helper = new ToolLoopAgent({
      ...{
        model: model(),
        tools: { weather },
        telemetry: { ...integration().telemetry, functionId: 'helper' },
      },
    });
    const ask = tool({
      inputSchema: z.object({ question: z.string() }),
      execute: async ({ question }) => (await helper.generate({ prompt: question })).text,
    });
    const asking = { name: 'ask', arguments: '{"question":"Weather in Bath?"}' };
    const toolCalls = (id: string, call: object) => [{ id, type: 'function', function: call }];
    server.reply(completion({ content: null, tool_calls: toolCalls('c1', asking) }, 'tool_calls'));
    const looking = { name: 'weather', arguments: '{"town":"Bath"}' };
    server.reply(completion({ content: null, tool_calls: toolCalls('c2', looking) }, 'tool_calls'));
    server.reply(
      completion({ content: 'Sun.' }, 'stop'),
      completion({ content: 'It is sunny.' }, 'stop'),
    );
    await generateText({
      ...{ model: model(), prompt: 'How is Bath?', tools: { ask }, stopWhen: stepCountIs(3) },
      ...integration(),
    });
    await sessions.flush();
    const [outer = '', inner = '', ...others] = await sessionsIn(log);
    expect(others).toEqual([]);
    const [boss, child] = [await readRecordedRun(log, outer), await readRecordedRun(log, inner)];
    expect([boss.problems, child.problems]).toEqual([[], []]);
    expect(boss.lines.slice(1)).toEqual([
      'c1: ask({"question":"Weather in Bath?"})',
      ...['c1: ask = Sun.', 'assistant: It is sunny.'],
    ]);
    expect(child.lines).toEqual([
      ...['user: Weather in Bath?', 'c2: weather({"town":"Bath"})', 'c2: weather = sun in Bath'],
      'assistant: Sun.',
    ]);
    expect(boss.spans.find(({ kind }) => kind === 'agent')).toMatchObject({ child: inner });
  });

  test('content that the program excludes is not stored', async () => {
    server.answer({ text: 'A secret answer.' });
    const telemetry = { ...integration().telemetry, recordInputs: false, recordOutputs: false };
    await streamText({ model: model(), prompt: 'A secret question', telemetry }).text;
    const { records, problems, spans } = await onlySession();
    expect(problems).toEqual([]);
    expect(JSON.stringify(records)).not.toContain('secret');
    expect(spans.map(({ kind }) => kind)).toEqual(['run', 'turn', 'attempt']);
  });
});
