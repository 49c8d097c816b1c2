import { promiseHooks } from 'node:v8';
import { randomIds } from '@millrace/core';
import type { ScriptEntry } from '@millrace/providers/scripted';
import type { SyncAgent, Update, UpdateInput } from '@millrace/server';
import {
  Agent,
  type ModelProvider,
  type ModelRequest,
  type Runner,
  RunRawModelStreamEvent,
  type RunStreamEvent,
} from '@openai/agents';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MillraceModel, millraceModels } from '../model/millrace-model.ts';
import { callItem, foreignModels, messageItem, reasoningItem } from '../testing/foreign-model.ts';
import {
  call,
  handoffMessages,
  miller,
  response,
  runnerOf,
  scriptedModel,
  thought,
} from '../testing/mill.ts';
import { startTestServer, summarize } from '../testing/test-server.ts';
import { convertRunEvents, type RunEvents } from './convert-run-events.ts';

type Run = (runner: Runner, asked: string, signal: AbortSignal) => Promise<RunEvents>;

const streamRun: Run = (runner, asked, signal) =>
  runner.run(miller, asked, { stream: true, signal });

function served(models: ModelProvider, run = streamRun): SyncAgent {
  return {
    type: 'sync',
    name: 'weather',
    async *onMessage(content, { signal }) {
      const asked = content.type === 'text' ? content.content : '';
      yield* convertRunEvents(await run(runnerOf(models), asked, signal));
    },
  };
}

const short = (update: Update) => {
  const { type, index } = update;
  if (type === 'delta') return `${index} + ${Object.values(update.delta ?? {}).at(-1)}`;
  return type === 'full' ? `${index} = ${summarize(update.content)}` : `${index} ${type}`;
};

describe('a run with a tool and a hand-off in a sync agent', () => {
  test('streams text and reasoning, and sends calls, results and hand-offs whole', async () => {
    const provider = scriptedModel();
    const { send, messages } = await startTestServer(served(millraceModels({ provider })));
    const updates = (await send()).map(short);
    expect(await messages()).toEqual(handoffMessages);
    expect(updates.filter((update) => update.includes('='))).toEqual([
      '2 = c1: weather({"town":"Bath"})',
      '3 = c1: weather = {"town":"Bath","sky":"rain"}',
      '4 = c2: transfer_to_Baker({})',
      '5 = c2: transfer_to_Baker = {"assistant":"Baker"}',
    ]);
    const of = (index: number) => updates.filter((update) => update.startsWith(`${index} `));
    for (const [index, text] of [
      [0, 'Is it wet?'],
      [1, 'Let me look. '],
      [6, 'Bread is ready.'],
    ]) {
      const sent = of(Number(index));
      expect([sent.at(0), sent.at(-1)]).toEqual([`${index} start`, `${index} done`]);
      expect(
        sent
          .slice(1, -1)
          .map((update) => update.slice(4))
          .join(''),
      ).toBe(text);
    }
    provider.assertUsedUp();
  });

  test('is the same without streaming', async () => {
    const { messages, sendQuietly } = await startTestServer(
      served(millraceModels({ provider: scriptedModel() })),
    );
    await sendQuietly();
    expect(await messages()).toEqual(handoffMessages);
  });

  test('is the same with a model from another vendor', async () => {
    const models = foreignModels([
      [
        reasoningItem('Is it wet?'),
        messageItem('Let me look. '),
        callItem('c1', 'weather', { town: 'Bath' }),
      ],
      [callItem('c2', 'transfer_to_Baker')],
      [messageItem('Bread is ready.')],
    ]);
    const { send, messages } = await startTestServer(served(models));
    await send();
    // Content that arrives whole at the end comes after streamed content.
    const [asked, thinking, looking, ...rest] = handoffMessages;
    expect(await messages()).toEqual([asked, looking, thinking, ...rest]);
  });
});

test('calls of one answer run in parallel, each with its result', async () => {
  const provider = scriptedModel([
    response(call('a', 'weather', { town: 'Bath' }), call('b', 'weather', { town: 'Wells' })),
    'Wet, both.',
  ]);
  const { send, messages } = await startTestServer(served(millraceModels({ provider })));
  await send();
  expect(await messages()).toEqual([
    'user: Bread?',
    'a: weather({"town":"Bath"})',
    'b: weather({"town":"Wells"})',
    'a: weather = {"town":"Bath","sky":"rain"}',
    'b: weather = {"town":"Wells","sky":"rain"}',
    'agent: Wet, both.',
  ]);
});

test('structured output is data', async () => {
  const outputType = z.object({ loaves: z.number() });
  const agent = new Agent({ name: 'Counter', outputType });
  const provider = scriptedModel([
    response({ kind: 'structured', name: 'final_output', value: { loaves: 3 } }),
  ]);
  const { send, messages } = await startTestServer(
    served(millraceModels({ provider }), (runner, asked, signal) =>
      runner.run(agent, asked, { stream: true, signal }),
    ),
  );
  await send();
  expect(await messages()).toEqual(['user: Bread?', 'data: {"loaves":3}']);
});

test('content that only the provider can read is sent as data', async () => {
  const provider = scriptedModel([
    response({ kind: 'custom', name: 'search', value: { hits: 2 } }, 'Found it.'),
  ]);
  const { send, messages } = await startTestServer(served(millraceModels({ provider })));
  await send();
  expect(new Set(await messages())).toEqual(
    new Set(['user: Bread?', 'data: {"name":"search","value":{"hits":2}}', 'agent: Found it.']),
  );
});

test('an interrupt stops the model and keeps its partial answer', async () => {
  const provider = scriptedModel([
    { content: { parts: ['Once upon a time, in a town'] }, fault: { type: 'stall', after: 3 } },
    'Yes?',
  ]);
  const { send, messages, until, interrupt } = await startTestServer(
    served(millraceModels({ provider })),
  );
  const sending = send();
  await until('Once upon a');
  await interrupt();
  await sending;
  expect(await messages()).toEqual(['user: Bread?', 'agent: Once upon a']);
  expect(provider.requests[0]?.context.signal?.aborted).toBe(true);
  await send();
  expect((await messages()).slice(2)).toEqual(['user: Bread?', 'agent: Yes?']);
});

test('an error is thrown after all earlier output, without incomplete calls', async () => {
  const provider = scriptedModel([
    {
      content: { parts: [thought, 'So far so good. ', call('c', 'weather', { town: 'Bath' })] },
      fault: { type: 'error', after: 11, error: 'overloaded' },
    },
  ]);
  const { send, messages, task } = await startTestServer(served(millraceModels({ provider })));
  await expect(send()).rejects.toThrow('overloaded');
  expect(await messages()).toEqual([
    'user: Bread?',
    'thought: Is it wet?',
    'agent: So far so good. ',
  ]);
  expect((await task()).status).toBe('FAILED');
});

test('a mistake of the model is thrown after its output', async () => {
  const provider = scriptedModel([response('I know a tool. ', call('c', 'nonsense'))]);
  const agent = served(millraceModels({ provider }));
  const { send, messages, diagnostics } = await startTestServer(agent);
  await expect(send()).rejects.toThrow('onDiagnostic');
  expect(diagnostics.join()).toContain('nonsense');
  expect(await messages()).toEqual(['user: Bread?', 'agent: I know a tool. ']);
});

describe('a slow reader loses nothing', () => {
  /** Reads one update, and the others after the run has failed. */
  async function lagging(
    script: readonly ScriptEntry[],
    why: string,
  ): Promise<readonly UpdateInput[]> {
    const runner = runnerOf(millraceModels({ provider: scriptedModel(script) }));
    const run = await runner.run(miller, 'Bread?', { stream: true, maxTurns: 1 });
    const updates = convertRunEvents(run);
    const { value: first } = await updates.next();
    const sent: UpdateInput[] = first === undefined ? [] : [first];
    await expect(run.completed).rejects.toThrow(why);
    const reading = (async () => {
      for await (const update of updates) sent.push(update);
    })();
    await expect(reading).rejects.toThrow(why);
    return sent;
  }

  test('when the run fails between two answers', async () => {
    const answer = response(thought, 'Let me look. ', call('c1', 'weather', { town: 'Bath' }));
    const sent = await lagging([answer], 'Max turns');
    const whole = sent.flatMap((update) => (update.type === 'full' ? [update] : []));
    expect(whole.map(({ index, content }) => `${index} ${content.type}`)).toEqual([
      ...['0 reasoning', '1 text', '2 tool_request', '3 tool_response'],
    ]);
  });

  test('when the model fails during an answer', async () => {
    const cut: ScriptEntry = {
      content: { parts: [thought, 'So far so good. Or is it?'] },
      fault: { type: 'error', after: 8, error: 'overloaded' },
    };
    const sent = await lagging([cut], 'overloaded');
    const pieces = sent.map((update) => (update.type === 'delta' ? update.delta : null));
    const texts = pieces.map((delta) => Object.values(delta ?? {}).at(-1));
    expect(texts.join('')).toBe('Is it wet?So far so good.');
  });
});

describe('a text event costs no additional promises', () => {
  async function promisesOf(stream: () => AsyncIterable<unknown>): Promise<number> {
    let promises = 0;
    const stop = promiseHooks.onInit(() => void promises++);
    for await (const _ of stream());
    stop();
    return promises;
  }

  /** Number of additional promises per event. */
  async function promisesEach(stream: (pieces: number) => AsyncIterable<unknown>) {
    const [few, many] = [100, 1100];
    const costs = [await promisesOf(() => stream(few)), await promisesOf(() => stream(many))];
    // The runner occasionally creates a few of its own.
    return Math.round((Number(costs[1]) - Number(costs[0])) / (many - few));
  }

  async function* onwards<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const one of stream) yield one;
  }

  test('in convertRunEvents', async () => {
    async function* events(pieces: number): AsyncGenerator<RunStreamEvent> {
      const data = { type: 'output_text_delta', itemId: 'm', delta: 'abc ' } as const;
      for (let n = 0; n < pieces; n++) yield new RunRawModelStreamEvent(data);
    }
    const alone = await promisesEach((pieces) => onwards(events(pieces)));
    expect(await promisesEach((pieces) => convertRunEvents(events(pieces)))).toBe(alone);
  });

  test('in a model', async () => {
    const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
    const provider = (pieces: number) => scriptedModel(['abc '.repeat(pieces)]);
    const request: ModelRequest = {
      ...{ input: 'Bread?', modelSettings: {}, tools: [], handoffs: [] },
      ...{ outputType: 'text', tracing: false },
    };
    const alone = await promisesEach((pieces) => {
      const item = { id: ids.item(), turn: 1, attempt: 1 };
      return onwards(provider(pieces).stream({ items: [] }, { item, ids }));
    });
    const model = (pieces: number) => new MillraceModel(provider(pieces));
    expect(await promisesEach((pieces) => model(pieces).getStreamedResponse(request))).toBe(alone);
  });
});
