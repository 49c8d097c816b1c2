import type { AsyncAgent } from '@millrace/server';
import { Agent, type ModelProvider, type Runner } from '@openai/agents';
import { describe, expect, test } from 'vitest';
import { millraceModels } from '../model/millrace-model.ts';
import { toInputItems } from '../request/convert-items.ts';
import { callItem, foreignModels, messageItem } from '../testing/foreign-model.ts';
import {
  call,
  handoffMessages,
  miller,
  response,
  runnerOf,
  scriptedModel,
} from '../testing/mill.ts';
import { startTestServer } from '../testing/test-server.ts';
import { type RunHooks, runHooks } from './run-hooks.ts';

type Run = (runner: Runner, asked: string, signal: AbortSignal) => Promise<unknown>;

const quietly: Run = (runner, asked, signal) => runner.run(miller, asked, { signal });

function served(models: (hooks: RunHooks) => ModelProvider, run = quietly): AsyncAgent {
  return {
    type: 'async',
    name: 'weather',
    async onEvent({ content }, context) {
      if (content?.type !== 'text') return;
      await context.messages.create(content);
      await using hooks = runHooks(context);
      const runner = runnerOf(models(hooks));
      hooks.attach(runner);
      await run(runner, content.content, context.signal);
    },
  };
}

const ours = (provider = scriptedModel()) =>
  served((stream) => millraceModels({ provider, stream }));

describe('a run with a tool and a hand-off in an async agent', () => {
  test('writes all messages in order', async () => {
    const provider = scriptedModel();
    const { tell, messages, rest } = await startTestServer(ours(provider));
    await tell();
    await rest();
    expect(await messages()).toEqual(handoffMessages);
    provider.assertUsedUp();
  });

  test('writes the same messages if the run is streamed', async () => {
    const provider = scriptedModel();
    const streamed: Run = async (runner, asked, signal) => {
      const run = await runner.run(miller, asked, { stream: true, signal });
      await run.completed;
    };
    const agent = served((stream) => millraceModels({ provider, stream }), streamed);
    const { tell, messages, rest } = await startTestServer(agent);
    await tell();
    await rest();
    expect(await messages()).toEqual(handoffMessages);
  });

  test('of a model from another vendor gets its calls from the hooks', async () => {
    const models = foreignModels([
      [messageItem('Let me look. '), callItem('c1', 'weather', { town: 'Bath' })],
      [callItem('c2', 'transfer_to_Baker')],
      [messageItem('Bread is ready.')],
    ]);
    const { tell, messages, rest } = await startTestServer(served(() => models));
    await tell();
    await rest();
    expect(await messages()).toEqual([
      'user: Bread?',
      'c1: weather({"town":"Bath"})',
      'c1: weather = {"town":"Bath","sky":"rain"}',
      'data: {"handoff":{"from":"Weather","to":"Baker"}}',
    ]);
  });
});

test('calls of one answer run in parallel, and each has one result', async () => {
  const provider = scriptedModel([
    response(call('a', 'weather', { town: 'Bath' }), call('b', 'weather', { town: 'Wells' })),
    'Wet, both.',
  ]);
  const { tell, messages, rest } = await startTestServer(ours(provider));
  await tell();
  await rest();
  expect(await messages()).toEqual([
    'user: Bread?',
    'a: weather({"town":"Bath"})',
    'b: weather({"town":"Wells"})',
    'a: weather = {"town":"Bath","sky":"rain"}',
    'b: weather = {"town":"Wells","sky":"rain"}',
    'agent: Wet, both.',
  ]);
});

test('the first of two hand-offs in one answer counts, and both get a result', async () => {
  const provider = scriptedModel([
    response(call('c1', 'transfer_to_Baker'), call('c2', 'transfer_to_Baker')),
    'Bread is ready.',
  ]);
  const { tell, messages, rest } = await startTestServer(ours(provider));
  await tell();
  await rest();
  expect((await messages()).slice(3)).toEqual([
    'c1: transfer_to_Baker = {"assistant":"Baker"}',
    'c2: transfer_to_Baker = "Not handed over: another hand-off of the same answer came first"',
    'agent: Bread is ready.',
  ]);
});

test('an interrupt stops the model and keeps its partial answer', async () => {
  const provider = scriptedModel([
    { content: { parts: ['Once upon a time, in a town'] }, fault: { type: 'stall', after: 3 } },
    'Yes?',
  ]);
  const { tell, messages, until, rest, interrupt } = await startTestServer(ours(provider));
  await tell();
  await until('Once upon a');
  await interrupt();
  await rest();
  expect(await messages()).toEqual(['user: Bread?', 'agent: Once upon a']);
  await tell();
  await until('Yes?');
  await rest();
  expect((await messages()).slice(2)).toEqual(['user: Bread?', 'agent: Yes?']);
});

test('an error is reported, and earlier output is kept', async () => {
  const provider = scriptedModel([
    {
      content: { parts: ['So far so good. ', call('c', 'weather', { town: 'Bath' })] },
      fault: { type: 'error', after: 7, error: 'overloaded' },
    },
  ]);
  const { tell, messages, rest, task } = await startTestServer(ours(provider));
  await tell();
  await rest();
  expect(await messages()).toEqual(['user: Bread?', 'agent: So far so good. ']);
  expect((await task()).status_reason).toContain('overloaded');
});

test('the messages of a task are the input of the next run', async () => {
  const provider = scriptedModel([
    response('Let me look. ', call('c1', 'weather', { town: 'Bath' })),
    'Rain.',
    (request) => `${request.items.map(({ kind }) => kind).join(', ')}`,
  ]);
  const { tell, messages, until, rest } = await startTestServer({
    type: 'async',
    name: 'weather',
    async onEvent({ content }, context) {
      if (content === null) return;
      await context.messages.create(content);
      await using hooks = runHooks(context);
      const runner = runnerOf(millraceModels({ provider, stream: hooks }));
      hooks.attach(runner);
      const input = toInputItems(context.toItems(await context.messages.list()));
      await runner.run(miller, input, { signal: context.signal });
    },
  });
  await tell();
  await until('Rain.');
  await rest();
  await tell();
  await until('system, ');
  await rest();
  expect((await messages()).at(-1)).toBe('agent: system, user, assistant, tool, assistant, user');
  const [, , last] = provider.requests;
  expect(last?.request.items[3]?.parts).toMatchObject([
    { kind: 'tool_result', toolCallId: 'c1', text: '{"town":"Bath","sky":"rain"}' },
  ]);
});

test('the output of an agent that is used as a tool is not part of the run', async () => {
  const provider = scriptedModel([
    response(call('c1', 'ask_baker', { input: 'Bread?' })),
    'In the oven.',
    'The baker says: in the oven.',
  ]);
  const baker = new Agent({ name: 'Baker' });
  const toolDescription = 'Asks the baker';
  const tools = [baker.asTool({ toolName: 'ask_baker', toolDescription })];
  const asking: Run = (runner, asked, signal) =>
    runner.run(new Agent({ name: 'Weather', tools }), asked, { signal });
  const agent = served((stream) => millraceModels({ provider, stream }), asking);
  const { tell, messages, rest } = await startTestServer(agent);
  await tell();
  await rest();
  expect(await messages()).toEqual([
    'user: Bread?',
    'c1: ask_baker({"input":"Bread?"})',
    'c1: ask_baker = "In the oven."',
    'agent: The baker says: in the oven.',
  ]);
  provider.assertUsedUp();
});

test('arguments are streamed, and an incomplete call is retracted', async () => {
  const input = { town: 'Bath', why: 'The order needs a delivery date, and more. '.repeat(9) };
  const provider = scriptedModel([
    {
      content: { parts: ['Let me look. ', call('c1', 'weather', input)] },
      fault: { type: 'stall', after: 30 },
    },
  ]);
  const { tell, messages, until, rest, interrupt } = await startTestServer(ours(provider));
  await tell();
  const { items } = await until('The order');
  const half = items.at(-1)?.parts.at(-1);
  expect(half).toMatchObject({ kind: 'tool_call', name: 'weather' });
  expect(half).not.toHaveProperty('input');
  await interrupt();
  await rest();
  expect(await messages()).toEqual(['user: Bread?', 'agent: Let me look. ']);
});
