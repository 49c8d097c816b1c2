import { Agentex } from 'agentex';
import { agentRPCNonStreaming, agentRPCWithStreaming, subscribeTaskState } from 'agentex/lib';
import { describe, expect, test } from 'vitest';
import type { ServerOptions } from '../create-server.ts';
import { compatServer } from '../testing/servers/compat-server.ts';
import { testToken } from '../testing/servers/test-server.ts';

// Runs the published npm client of Agentex against this server.

const hello = { type: 'text', author: 'user', content: 'hello' } as const;
const answers = [
  { type: 'reasoning', summary: ['I think'] },
  { type: 'text', content: 'You said hello' },
  { type: 'tool_request', tool_call_id: 'c1', name: 'look', arguments: { at: 'it' } },
  { type: 'tool_response', tool_call_id: 'c1', name: 'look', content: { seen: true } },
];

async function client(apiKey = testToken('any'), options: Partial<ServerOptions> = {}) {
  const baseURL = await compatServer({ tokens: [apiKey], ...options });
  return new Agentex({ baseURL, apiKey, maxRetries: 0 });
}

const syncAgent = { agentName: 'sync-agent' } as const;
const asyncAgent = { agentName: 'async-agent' } as const;

describe("Agentex's TypeScript client", () => {
  test('finds agents, creates tasks, and finds them by id, by name and in lists', async () => {
    const agentex = await client();
    const agents = await agentex.agents.list();
    expect(agents.map(({ name }) => name).toSorted()).toEqual([
      'async-agent',
      'loop-agent',
      'sync-agent',
    ]);
    const agent = await agentex.agents.retrieveByName('sync-agent');
    expect(await agentex.agents.retrieve(agent.id)).toEqual(agent);
    const params = { name: 'a talk', params: { depth: 3 } };
    const { result: task } = await agentRPCNonStreaming(
      ...[agentex, { agentID: agent.id }, 'task/create' as const, params],
    );
    expect(task).toMatchObject({ name: 'a talk', status: 'RUNNING', params: { depth: 3 } });
    const id = task?.id ?? '';
    expect(await agentex.tasks.retrieve(id)).toMatchObject({ id, name: 'a talk' });
    expect(await agentex.tasks.retrieveByName('a talk')).toMatchObject({ id });
    expect(await agentex.tasks.list({ agent_name: 'sync-agent' })).toMatchObject([{ id }]);
    expect(await agentex.tasks.list({ agent_name: 'async-agent' })).toEqual([]);
  });

  test('sends a message without streaming, and lists the messages', async () => {
    const agentex = await client();
    const { result: task } = await agentRPCNonStreaming(agentex, syncAgent, 'task/create', {});
    const params = { task_id: task?.id ?? '', content: hello };
    const { result } = await agentRPCNonStreaming(agentex, syncAgent, 'message/send', params);
    expect(result?.map(({ content }) => content)).toMatchObject(answers);
    const listed = await agentex.messages.list({ task_id: params.task_id });
    const oldestFirst = listed.toReversed();
    expect(oldestFirst.map(({ content }) => content)).toMatchObject([hello, ...answers]);
    expect(await agentex.messages.retrieve(listed[0]?.id ?? '')).toEqual(listed[0]);
  });

  test('sends a message with streaming, and every update belongs to a stored message', async () => {
    const agentex = await client();
    const params = { content: hello };
    const types: string[] = [];
    const ids = new Set<string>();
    let taskId = '';
    for await (const { result } of agentRPCWithStreaming(
      agentex,
      syncAgent,
      'message/send',
      params,
    )) {
      types.push(result?.type ?? 'error');
      ids.add(result?.parent_task_message?.id ?? '');
      taskId = result?.parent_task_message?.task_id ?? '';
    }
    expect(new Set(types)).toEqual(new Set(['start', 'delta', 'full', 'done']));
    const stored = await agentex.messages.list({ task_id: taskId });
    expect(stored.map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]));
    expect(ids.size).toBe(answers.length);
  });

  test('gets the reason why a message cannot be sent, in the JSON-RPC error', async () => {
    const agentex = await client();
    const params = { task_id: 'nowhere', content: hello };
    const answer = agentRPCNonStreaming(agentex, asyncAgent, 'message/send', params);
    expect((await answer).error).toMatchObject({ message: expect.stringContaining('event/send') });
    const wrong = new Agentex({ baseURL: agentex.baseURL, apiKey: 'wrong', maxRetries: 0 });
    await expect(wrong.agents.list()).rejects.toMatchObject({ status: 401 });
  });

  test('sends events, lists them, cancels the task', async () => {
    const agentex = await client();
    const { result: task } = await agentRPCNonStreaming(agentex, asyncAgent, 'task/create', {});
    const params = { task_id: task?.id ?? '', content: hello };
    const { result: event } = await agentRPCNonStreaming(agentex, asyncAgent, 'event/send', params);
    expect(event).toMatchObject({ task_id: params.task_id, content: hello });
    expect(await agentex.events.retrieve(event?.id ?? '')).toMatchObject({ id: event?.id });
    const ofTask = { task_id: params.task_id, agent_id: event?.agent_id ?? '' };
    expect(await agentex.events.list(ofTask)).toMatchObject([{ id: event?.id }]);
    const { result: canceled } = await agentRPCNonStreaming(agentex, asyncAgent, 'task/cancel', {
      task_id: params.task_id,
    });
    expect(canceled).toMatchObject({ id: params.task_id, status: 'CANCELED' });
  });

  test.each([
    ['async', asyncAgent, 'event/send', [hello, { type: 'text', content: 'Received: hello' }]],
    ['sync', syncAgent, 'message/send', [hello, ...answers]],
  ] as const)(
    'streams a task of an agent of type %s to its last message',
    async (_, who, method, all) => {
      const agentex = await client();
      const { result: task } = await agentRPCNonStreaming(agentex, who, 'task/create', {});
      const taskID = task?.id ?? '';
      const abort = new AbortController();
      const isConnected = Promise.withResolvers<void>();
      const isComplete = Promise.withResolvers<void>();
      let shown: readonly {
        readonly content: object;
        readonly streaming_status?: string | null;
      }[] = [];
      const following = subscribeTaskState(
        agentex,
        { taskID },
        {
          onTaskChange: () => {},
          onAgentsChange: () => {},
          onError: () => {},
          onStreamStatusChange: (status) => status === 'connected' && isConnected.resolve(),
          onMessagesChange: (messages) => {
            shown = messages;
            const isDone = messages.every((one) => one.streaming_status === 'DONE');
            if (messages.length === all.length && isDone) isComplete.resolve();
          },
        },
        { signal: abort.signal },
      );
      await isConnected.promise;
      await agentRPCNonStreaming(agentex, who, method, { task_id: taskID, content: hello });
      await isComplete.promise;
      abort.abort();
      expect(await following).toEqual({ aborted: true });
      expect(shown.map(({ content }) => content)).toMatchObject(all);
    },
  );

  test('stores states, spans and trackers', async () => {
    const agentex = await client();
    const { result: task } = await agentRPCNonStreaming(agentex, asyncAgent, 'task/create', {});
    const agent = await agentex.agents.retrieveByName('async-agent');
    const whose = { task_id: task?.id ?? '', agent_id: agent.id };
    const state = await agentex.states.create({ ...whose, state: { n: 1 } });
    await agentex.states.update(state.id, { ...whose, state: { n: 2 } });
    expect(await agentex.states.list(whose)).toMatchObject([{ id: state.id, state: { n: 2 } }]);
    const start_time = '2026-01-01T00:00:00.000Z';
    const span = await agentex.spans.create({ trace_id: 't', name: 'work', start_time });
    expect(await agentex.spans.retrieve(span.id)).toMatchObject({ trace_id: 't', name: 'work' });
    const [tracker] = await agentex.tracker.list({ task_id: whose.task_id });
    expect(tracker).toMatchObject(whose);
  });
});
