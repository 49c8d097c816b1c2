import { type AgentEvent, decodeEvent, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { eventsOf } from '../testing/read-log.ts';
import { session } from '../testing/test-agent.ts';
import { defineTool } from '../tool/define-tool.ts';

const weather = defineTool({
  ...{ name: 'weather', description: 'The weather', input: z.object({ town: z.string() }) },
  execute: async ({ town }) => `Rain in ${town}`,
});
const script = [
  { content: { parts: ['Let me check.', call('c1', 'weather', { town: 'Bath' })] } },
  'Take an umbrella.',
] satisfies readonly ScriptEntry[];

const start = (entries: readonly ScriptEntry[] = script, options: Partial<AgentOptions> = {}) =>
  createAgent({
    provider: scriptedProvider(entries, { pieces: 'character' }),
    ...{ tools: [weather], approve: () => 'allow', ...options },
  });

async function readAll<T>(stream: ReadableStream<T>): Promise<readonly T[]> {
  const values: T[] = [];
  for await (const value of stream) values.push(value);
  return values;
}

/** The messages that the AI SDK's client shows while it reads a response, and its errors. */
async function show(response: Response, message?: UIMessage) {
  const transport = new DefaultChatTransport({ fetch: async () => response });
  const stream = await transport.reconnectToStream({ chatId: 'c' });
  if (stream === null) throw new Error('The response has no stream');
  const errors: string[] = [];
  const onError = (error: unknown) => void errors.push(String(error));
  const shown: UIMessage[] = [];
  const from = message === undefined ? {} : { message: structuredClone(message) };
  for await (const one of readUIMessageStream({ stream, onError, ...from })) shown.push(one);
  return { shown, message: shown.at(-1), errors };
}

/** A log that needs a while to release a session, as a database does. */
function logWithSlowRelease(): Log {
  const log = memoryLog();
  const open: Log['open'] = async (...args) => {
    const driver = await log.open(...args);
    const release = async () => {
      for (let turn = 0; turn < 100; turn += 1) await new Promise((next) => setImmediate(next));
      await driver.release();
    };
    return replaceMethod(driver, 'release', release);
  };
  return replaceMethod(log, 'open', open);
}

/** The object with another method. All other members belong to the object, also private ones. */
function replaceMethod<T extends object>(object: T, name: keyof T, method: unknown): T {
  const get = (target: T, key: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, key, target);
    if (key === name) return method;
    return typeof value === 'function' ? value.bind(target) : value;
  };
  return new Proxy(object, { get });
}

const toolPart = (message: UIMessage | undefined) =>
  message?.parts.find(({ type }) => type === 'tool-weather');
const textOf = (message: UIMessage | undefined) =>
  message?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

describe('toReadableStream', () => {
  test('has the same events as the run', async () => {
    const run = start().run('Will it rain?');
    await run.result;
    const events = await readAll(run.toReadableStream());
    expect(events).toEqual(await eventsOf(run));
    expect(events.at(-1)?.type).toBe('run_finished');
  });

  test('takes an event only when its reader wants one, and does not stop the run', async () => {
    const run = start().run('Will it rain?');
    const reader = run.toReadableStream().getReader();
    await reader.read();
    await reader.cancel();
    expect((await run.result).stop.reason).toBe('stop');
  });

  test('can be cancelled while the run waits', async () => {
    const run = start(script, { approve: () => 'ask' }).run('Will it rain?');
    const reader = run.toReadableStream().getReader();
    let event: AgentEvent | undefined;
    while (event?.type !== 'approval_asked') event = (await reader.read()).value;
    const next = reader.read();
    await reader.cancel();
    expect(await next).toMatchObject({ done: true });
    await run.abort();
    expect((await run.result).stop.reason).toBe('aborted');
  });
});

test('toEventStream has one event per frame, with its offset as id', async () => {
  const run = start().run('Will it rain?');
  await run.result;
  const text = await new Response(run.toEventStream()).text();
  const frames = text.split('\n\n').slice(0, -1);
  const events = frames.map((frame) => {
    const [, id, data = ''] = /^id: (\d+)\ndata: (.*)$/.exec(frame) ?? [];
    const event = decodeEvent(data);
    expect(`${event.offset}`).toBe(id);
    return event;
  });
  expect(events).toEqual(await eventsOf(run));
});

describe('toUIMessageStreamResponse', () => {
  test('is one message for the AI SDK, with the steps, the calls and their results', async () => {
    const run = start().run('Will it rain?');
    const response = run.toUIMessageStreamResponse({ headers: { 'x-chat': '1' } });
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    expect(response.headers.get('x-chat')).toBe('1');
    const { message, shown, errors } = await show(response);
    expect(errors).toEqual([]);
    expect(message?.id).toBe(`${run.session}.${run.id}`);
    expect(textOf(message)).toBe('Let me check.Take an umbrella.');
    expect(toolPart(message)).toMatchObject({
      ...{ state: 'output-available', input: { town: 'Bath' }, output: 'Rain in Bath' },
    });
    // The client shows the message while it grows.
    expect(shown.length).toBeGreaterThan(5);
    // A late reader gets the same message.
    expect((await show(run.toUIMessageStreamResponse())).message).toEqual(message);
  });

  test('ends when a call waits for an approval, and continues the message after the answer', async () => {
    const run = start(script, { approve: () => 'ask' }).run('Will it rain?');
    const first = await show(run.toUIMessageStreamResponse());
    expect(toolPart(first.message)).toMatchObject({ state: 'approval-requested' });
    await run.approve(toolCallId('c1'));
    const messageId = first.message?.id;
    const second = await show(run.toUIMessageStreamResponse({ messageId }), first.message);
    expect([...first.errors, ...second.errors]).toEqual([]);
    expect(second.message?.id).toBe(messageId);
    expect(textOf(second.message)).toBe('Let me check.Take an umbrella.');
    expect(second.message?.parts.filter(({ type }) => type === 'tool-weather')).toHaveLength(1);
    expect(toolPart(second.message)).toMatchObject({ state: 'output-available' });
  });

  test('shows the whole message of a run that another process had started', async () => {
    const log = memoryLog();
    const options: Partial<AgentOptions> = { log, approve: () => 'ask' };
    const leave = new AbortController();
    const left = start(script, options).run('Will it rain?', { session, leave: leave.signal });
    await show(left.toUIMessageStreamResponse());
    leave.abort();
    await left.result;
    const resumed = start(script.slice(1), options).resume(session);
    const { message } = await show(resumed.toUIMessageStreamResponse());
    expect(toolPart(message)).toMatchObject({ state: 'approval-requested' });
    expect(textOf(message)).toBe('Let me check.');
    await resumed.approve(toolCallId('c1'));
    const messageId = message?.id;
    const second = await show(resumed.toUIMessageStreamResponse({ messageId }), message);
    expect(textOf(second.message)).toBe('Let me check.Take an umbrella.');
  });

  test.each([
    ['park', 'm1'],
    ['park', undefined],
    ['wait', 'm1'],
    ['wait', undefined],
  ] as const)(
    'has the call, its result and the answer after an approval (%s, message %s)',
    async (whileAsking, messageId) => {
      const log = memoryLog();
      const agent = start(script, { log, approve: () => 'ask', whileAsking });
      const run = agent.run('Will it rain?', { session });
      const first = await show(run.toUIMessageStreamResponse());
      expect(toolPart(first.message)).toMatchObject({ state: 'approval-requested' });
      await agent.approve(session, 'c1');
      const next = whileAsking === 'park' ? agent.resume(session) : run;
      const options = messageId === undefined ? {} : { messageId };
      const shownBefore = messageId === undefined ? undefined : first.message;
      const second = await show(next.toUIMessageStreamResponse(options), shownBefore);
      expect(second.errors).toEqual([]);
      expect(toolPart(second.message)).toMatchObject({ output: 'Rain in Bath' });
      expect(textOf(second.message)).toBe('Let me check.Take an umbrella.');
    },
  );

  test('20.8: of a parked run ends when the session is free, so that an answer can resume it', async () => {
    const log = logWithSlowRelease();
    const agent = start(script, { log, approve: () => 'ask', whileAsking: 'park' });
    const first = await show(agent.run('Will it rain?', { session }).toUIMessageStreamResponse());
    await agent.approve(session, 'c1');
    const messageId = first.message?.id;
    const resumed = agent.resume(session).toUIMessageStreamResponse({ messageId });
    const second = await show(resumed, first.message);
    expect([...first.errors, ...second.errors]).toEqual([]);
    expect(textOf(second.message)).toBe('Let me check.Take an umbrella.');
  });

  test('is one message even if a follow-up starts another run', async () => {
    const slow = { content: { parts: ['One.'] }, pauseMs: 5 };
    const run = start([slow, 'Two.']).run('First');
    const showing = show(run.toUIMessageStreamResponse());
    await run.followUp('Second');
    const { message, errors } = await showing;
    expect([textOf(message), errors]).toEqual(['One.Two.', []]);
  });

  test('ends with an error if the run could not start or the model failed', async () => {
    const log = memoryLog();
    const driver = await log.open(session);
    const held = start(script, { log }).run('Will it rain?', { session });
    expect((await show(held.toUIMessageStreamResponse())).errors).toEqual([
      expect.stringContaining('The run ended with an error: held'),
    ]);
    await driver.release();
    const fault = { type: 'error', after: 0, error: 'auth' } as const;
    const failed = start([{ content: { parts: ['No'] }, fault }]).run('Hello');
    expect((await show(failed.toUIMessageStreamResponse())).errors).toHaveLength(1);
  });

  test('31.S3: sends the text that onError returns instead of the error code', async () => {
    const fault = { type: 'error', after: 0, error: 'auth' } as const;
    const run = start([{ content: { parts: ['No'] }, fault }]).run('Hello');
    const codes: string[] = [];
    const onError = ({ code }: { readonly code: string }) => {
      codes.push(code);
      return 'Please try again later.';
    };
    const { errors } = await show(run.toUIMessageStreamResponse({ onError }));
    const { error } = await run.result;
    expect([errors, codes]).toEqual([['Error: Please try again later.'], [error?.code]]);
    const fine = await show(start().run('Hello').toUIMessageStreamResponse({ onError }));
    expect([fine.errors, codes.length]).toEqual([[], 1]);
    const fails = () => {
      throw new Error('Secret');
    };
    const failed = await show(run.toUIMessageStreamResponse({ onError: fails }));
    expect(failed.errors).toEqual([expect.stringContaining('The run ended with an error')]);
  });

  test('refuses unknown options', () => {
    const run = start().run('Will it rain?');
    const options = { mesageId: 'm' };
    expect(() => run.toUIMessageStreamResponse(options as object)).toThrow(
      'there is no option mesageId. Did you mean messageId?',
    );
  });
});

test('20: an event stream of a run that could not start has one event with the error', async () => {
  const log = memoryLog();
  await log.open(session, { holder: 'another process' });
  const run = start(script, { log }).run('Will it rain?', { session });
  const frames = (await new Response(run.toEventStream()).text()).split('\n\n').filter(Boolean);
  const [only = ''] = frames;
  expect([frames.length, only.startsWith('data: ')]).toEqual([1, true]);
  const { error } = await run.result;
  expect(JSON.parse(only.slice(6))).toEqual({ session, type: 'error', error });
  expect(error?.code).toBe('held');
  expect(error?.message).toContain('another process drives it');
  expect(error?.message).toContain('send the message to the run with submitCommand');
  expect(error?.message).not.toContain('takeOver');
});

test('20: an event stream of a run that lost its session ends with the error', async () => {
  const log = memoryLog();
  const stalled = { content: { parts: ['It is '] }, fault: { type: 'stall', after: 2 } } as const;
  const run = start([stalled], { log }).run('Will it rain?', { session });
  for await (const { type } of run.events) if (type === 'assistant_text_delta') break;
  await log.open(session, { holder: 'another process', takeOver: true });
  const frames = (await new Response(run.toEventStream()).text()).split('\n\n').filter(Boolean);
  const data = frames.at(-1)?.split('data: ').at(-1) ?? '';
  expect(JSON.parse(data)).toMatchObject({ type: 'error', error: { code: 'fenced' } });
});
