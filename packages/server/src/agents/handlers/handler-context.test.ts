import { type Part, toolCallId } from '@millrace/core';
import { ProviderError } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import type { TaskMessage, Update } from '../../contract/message.ts';
import type { HandlerContext } from '../../contract/served-agent.ts';
import {
  agentText,
  createTaskHarness,
  eventually,
  ids,
  textsOf,
  userText,
} from '../../testing/servers/task-harness.ts';
import { toItems } from '../../updates/to-items.ts';

/** Runs a handler for one event. Returns its result and the resulting messages. */
async function handled<T>(handler: (context: HandlerContext) => Promise<T>) {
  const outcome = Promise.withResolvers<T>();
  const onEvent = async (_event: unknown, context: HandlerContext) => {
    const running = handler(context);
    running.then(outcome.resolve, outcome.reject);
    await running;
  };
  outcome.promise.catch(() => {});
  const harness = await createTaskHarness([{ type: 'async', name: 'listener', onEvent }]);
  const { id: task_id } = await harness.newTask('listener');
  const agent = await harness.idOf('listener');
  await harness.service.tasks.sendEvent(agent, { task_id, content: userText('Go') });
  const value = await outcome.promise.then(
    (result) => ({ result, thrown: undefined }),
    (thrown: unknown) => ({ result: undefined, thrown }),
  );
  return { ...harness, ...value, id: task_id };
}

function streamOf(scripted: ScriptEntry) {
  const provider = scriptedProvider([scripted], { pieces: 'token' });
  const item = { id: ids.item(), turn: 7, attempt: 3 };
  return provider.stream({ items: [] }, { item, ids });
}

const call: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{"at":"it"}' },
};

describe('auto-send', () => {
  test('creates and stores a message per part, and returns all of them and the last', async () => {
    const parts: readonly Part[] = [
      { kind: 'reasoning', form: 'full', text: 'Let me think about it' },
      { kind: 'text', text: 'I will look at it' },
      { kind: 'structured', value: { ok: true } },
      call,
    ];
    const { result, messages, id } = await handled(({ stream }) =>
      stream.auto(streamOf({ content: { parts } })),
    );
    expect(result?.messages.map(({ content }) => content)).toMatchObject([
      { type: 'reasoning', content: ['Let me think about it'] },
      { type: 'text', content: 'I will look at it' },
      { type: 'data', data: { ok: true } },
      { type: 'tool_request', tool_call_id: 'c1', name: 'look', arguments: { at: 'it' } },
    ]);
    expect(result?.final).toEqual(result?.messages.at(-1));
    const stored = await messages(id);
    expect(stored.map((one) => one.id)).toEqual(result?.messages.map((one) => one.id));
    expect(stored.every((one) => one.streaming_status === 'DONE')).toBe(true);
  });

  test('sends the request to a provider, and aborts it with the handler', async () => {
    const provider = scriptedProvider(['One', 'Two'], { pieces: 'token' });
    const signals: (AbortSignal | undefined)[] = [];
    const watched: Pick<typeof provider, 'stream'> = {
      stream: (request, context) => {
        signals.push(context.signal);
        return provider.stream(request, context);
      },
    };
    const { result, id, messages } = await handled(async ({ stream, signal }) => {
      const first = await stream.auto(watched, { items: [] });
      const second = await stream.auto(watched, { items: [] });
      return { signal, sent: [first, second].flatMap((one) => one.messages) };
    });
    expect(textsOf(result?.sent ?? [])).toEqual(['One', 'Two']);
    expect(await messages(id)).toEqual(result?.sent);
    expect(signals).toEqual([result?.signal, result?.signal]);
  });

  test('can be used repeatedly in one turn, even if the streams use the same ids', async () => {
    const one = () => {
      const counted = { ...ids, part: () => '7.3.p1' as ReturnType<typeof ids.part> };
      const provider = scriptedProvider(['Again']);
      const item = { id: ids.item(), turn: 7, attempt: 3 };
      return provider.stream({ items: [] }, { item, ids: counted });
    };
    const { result } = await handled(async ({ stream }) => [
      ...(await stream.auto(one())).messages,
      ...(await stream.auto(one())).messages,
    ]);
    expect(textsOf(result ?? [])).toEqual(['Again', 'Again']);
  });

  test('stores the partial content of a failed stream and throws its error', async () => {
    const fault = { type: 'error', after: 3, error: 'overloaded' } as const;
    const { thrown, messages, id, task } = await handled(({ stream }) =>
      stream.auto(streamOf({ content: { parts: ['One two three four'] }, fault })),
    );
    expect(thrown).toBeInstanceOf(ProviderError);
    expect(thrown).toMatchObject({ kind: 'overloaded' });
    const [stored] = textsOf(await messages(id));
    expect(stored).toMatch(/^One /);
    await eventually(async () => (await task(id)).status === 'FAILED');
  });

  test('refuses a stream that violates the protocol', async () => {
    const fault = { type: 'swap', after: 2 } as const;
    const { thrown, messages, id } = await handled(({ stream }) =>
      stream.auto(streamOf({ content: { parts: ['One two three four'] }, fault })),
    );
    expect(thrown).toMatchObject({ kind: 'protocol_error' });
    expect((await messages(id)).every((one) => one.streaming_status === 'DONE')).toBe(true);
  });

  test('throws for a stream without a final step', async () => {
    const { thrown } = await handled(({ stream }) =>
      stream.auto(
        (async function* () {
          yield { deltas: [] };
        })(),
      ),
    );
    expect(thrown).toMatchObject({ kind: 'protocol_error' });
  });
});

describe('a message opened by the handler', () => {
  test('sends each update to its sinks after it is stored', async () => {
    const published: Update[] = [];
    let stored: readonly TaskMessage[] = [];
    await handled(async ({ stream, messages }) => {
      const sink = async (update: Update) => {
        published.push(update);
        stored = await messages.list();
      };
      const others: string[] = [];
      const both = [sink, (update: Update) => void others.push(update.type)];
      const message = await stream.open(agentText(''), { sinks: both });
      await message.write({ type: 'delta', delta: { type: 'text', text_delta: 'LOUD' } });
      expect(textsOf(stored)).toEqual(['LOUD']);
      await message.close();
      expect(others).toEqual(['start', 'delta', 'done']);
    });
    expect(published.map(({ type }) => type)).toEqual(['start', 'delta', 'done']);
    expect(published[2]?.parent_task_message?.content).toEqual(agentText('LOUD'));
  });

  test('several are open at once, and each has its own index', async () => {
    const { result } = await handled(async ({ stream }) => {
      const indexes: unknown[] = [];
      const sinks = [(update: Update) => void indexes.push(update.index)];
      const a = await stream.open(agentText(''), { sinks });
      const b = await stream.open(agentText(''), { sinks });
      await b.write({ type: 'delta', delta: { type: 'text', text_delta: 'B' } });
      await a.write({ type: 'delta', delta: { type: 'text', text_delta: 'A' } });
      return { indexes, closed: [await a.close(), await b.close()] };
    });
    expect(result?.indexes.slice(0, 4)).toEqual([0, 1, 1, 0]);
    expect(textsOf(result?.closed ?? [])).toEqual(['A', 'B']);
  });

  test('is closed with the turn if the handler does not close it', async () => {
    const { messages, id } = await handled(async ({ stream }) => {
      const message = await stream.open(agentText(''));
      await message.write({ type: 'delta', delta: { type: 'text', text_delta: 'Forgotten' } });
    });
    await eventually(async () => (await messages(id))[0]?.streaming_status === 'DONE');
    expect(textsOf(await messages(id))).toEqual(['Forgotten']);
  });

  test('an error of a sink reaches the handler', async () => {
    const { thrown } = await handled(({ stream }) =>
      stream.open(agentText(''), { sinks: [() => Promise.reject(new Error('Deaf'))] }),
    );
    expect(thrown).toEqual(new Error('Deaf'));
  });
});

describe('the state', () => {
  test('has a version, and changing an older version is a conflict', async () => {
    const { result, service, id } = await handled(async ({ state }) => {
      const before = await state.get();
      const first = await state.set({ n: 1 }, { ifVersion: 0 });
      const second = await state.set({ n: 2 }, { ifVersion: first });
      const refused = await state.set({ n: 3 }, { ifVersion: first }).catch((error) => error.code);
      return { before, first, second, refused, after: await state.get() };
    });
    expect(result).toEqual({
      ...{ before: undefined, first: 1, second: 2, refused: 'conflict' },
      after: { value: { n: 2 }, version: 2 },
    });
    const page = { limit: 50, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
    const { data } = await service.states.list({ ...page, taskId: id });
    expect(data).toMatchObject([{ task_id: id, state: { n: 2 }, version: 2 }]);
  });
});

describe('tracing', () => {
  test('spans have ids of W3C trace context and their parents', async () => {
    const { result, service } = await handled(async ({ tracing }) => {
      const outer = await tracing.span('turn', { input: { n: 1 } });
      {
        await using inner = await tracing.span('model', { parent: outer });
        expect(inner.traceId).toBe(outer.traceId);
      }
      await outer.end({ output: { ok: true } });
      return outer;
    });
    expect(result?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    const page = { limit: 50, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
    const { data } = await service.spans.list({ ...page, traceId: result?.traceId });
    const [first, second] = [...data].sort((a, b) => (a.name > b.name ? -1 : 1));
    expect(first).toMatchObject({ name: 'turn', parent_id: null, output: { ok: true } });
    expect(second).toMatchObject({ name: 'model', parent_id: result?.id });
    expect(data.every(({ end_time }) => end_time !== null)).toBe(true);
  });
});

describe('messages as items', () => {
  const message = (id: string, content: TaskMessage['content']): TaskMessage => ({
    ...{ id, task_id: 't', content, streaming_status: 'DONE', created_at: null, updated_at: null },
  });
  const request = (id: string) =>
    message(`q${id}`, {
      ...{ type: 'tool_request', author: 'agent', style: 'static' },
      ...{ tool_call_id: id, name: 'look', arguments: {} },
    });
  const response = (id: string) =>
    message(`r${id}`, {
      ...{ type: 'tool_response', author: 'agent', style: 'static' },
      ...{ tool_call_id: id, name: 'look', content: `seen ${id}`, is_error: null },
    });

  test('have each call with its result, in the order of the calls', () => {
    const items = toItems([
      message('u', userText('Look twice')),
      ...[message('a', agentText('I look')), request('1'), request('2')],
      ...[response('2'), response('1')],
      message('b', agentText('Done')),
    ]);
    expect(items.map(({ kind }) => kind)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(items[1]?.parts.map(({ kind }) => kind)).toEqual(['text', 'tool_call', 'tool_call']);
    expect(items[2]?.parts).toMatchObject([{ text: 'seen 1' }, { text: 'seen 2' }]);
  });

  test('leave out a result without a call', () => {
    const items = toItems([message('u', userText('Hi')), response('9')]);
    expect(items.map(({ kind }) => kind)).toEqual(['user']);
  });
});
