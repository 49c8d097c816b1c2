import { createAgent, defineTool, subAgent } from '@millrace/agent';
import { type Part, sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { type UIMessage, validateUIMessages } from 'ai';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { countingLog } from '../../../../log/src/testing/counting-log.ts';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer } from '../../create-server.ts';
import { BrowserChat, type BrowserOptions } from '../../testing/ai-sdk-client.ts';
import { agentText, eventually, textDelta } from '../../testing/servers/task-harness.ts';

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'It is there',
});
const call = (id: string): Part => ({
  ...{ kind: 'tool_call', toolCallId: toolCallId(id), name: 'look', arguments: '{}' },
});
const stalls = {
  content: { parts: ['One moment please'] },
  fault: { type: 'stall', after: 3 },
} as const;

type AgentOptions = Omit<Parameters<typeof createAgent>[0], 'provider' | 'log'>;

const loopAgent =
  (script: readonly ScriptEntry[], options: AgentOptions = {}) =>
  (log: Log): readonly ServedAgent[] => {
    const agent = createAgent({ provider: scriptedProvider(script), log, ...options });
    return [{ type: 'loop', name: 'helper', agent }];
  };

async function serve(agents: (log: Log) => readonly ServedAgent[], log: Log = memoryLog()) {
  const limits = { closeTimeoutMs: 200 };
  const server = createServer({ tokens: 'none', log, agents: agents(log), limits });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const browse = (id: string, init?: BrowserOptions['init']) =>
    new BrowserChat({ url, agent: 'helper', id, init });
  const request = async (path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' };
    const post = body && { method: 'POST', headers, body: JSON.stringify(body) };
    return fetch(`${url}${path}`, post);
  };
  const taskOf = async (id: string) =>
    (await (await request(`/tasks/name/${id}`)).json()) as { id: string; status: string };
  return { url, log, browse, request, taskOf };
}

const chatPath = '/agents/name/helper/chat';
const rolesIn = ({ messages }: BrowserChat) => messages.map(({ role }) => role);
const toolIn = ({ lastMessage }: BrowserChat, at = 0) =>
  lastMessage?.parts.filter((part) => part.type === 'tool-look')[at];

describe('useChat with an agent loop', () => {
  const script: readonly ScriptEntry[] = [
    {
      content: {
        parts: [
          { kind: 'reasoning', form: 'summary', text: 'Where is it?' },
          'Let me see.',
          call('c1'),
        ],
      },
    },
    'It is there.',
    'And still is.',
  ];

  test('sends a message and shows reasoning, tools and text as one message per run', async () => {
    const { browse, taskOf } = await serve(loopAgent(script, { tools: [look] }));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    expect([chat.status, chat.error, rolesIn(chat)]).toEqual([
      'ready',
      undefined,
      ['user', 'assistant'],
    ]);
    expect(chat.lastMessage?.parts.map(({ type }) => type)).toEqual([
      ...['step-start', 'reasoning', 'text', 'tool-look', 'step-start', 'text'],
    ]);
    expect(toolIn(chat)).toMatchObject({ state: 'output-available', output: 'It is there' });
    await chat.sendMessage({ text: 'And now?' });
    expect(rolesIn(chat)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(chat.text).toBe('And still is.');
    expect(await taskOf('talk')).toMatchObject({ status: 'RUNNING' });
  });

  test('loads all messages as they were shown', async () => {
    const { browse, request } = await serve(loopAgent(script, { tools: [look] }));
    const chat = browse('talk');
    expect(await (await request(`${chatPath}/talk`)).json()).toEqual({ messages: [] });
    for (const text of ['Is it there?', 'And now?']) await chat.sendMessage({ text });
    const { messages } = (await (await request(`${chatPath}/talk`)).json()) as {
      messages: UIMessage[];
    };
    const named = messages.map((message, at) =>
      message.role === 'user' ? { ...message, id: chat.messages[at]?.id } : message,
    );
    expect(named).toEqual(chat.messages);
    expect((await validateUIMessages({ messages })).length).toBe(4);
  });

  test('21.F law 18: a message costs the same in a long chat, and so does its repeat', async () => {
    const { log, take } = countingLog(memoryLog());
    const texts = Array.from({ length: 300 }, (_, index) => `Answer ${index}`);
    const { request } = await serve(loopAgent(texts), log);
    const say = async (id: string) => {
      const message = { id, role: 'user', parts: [{ type: 'text', text: 'Hello' }] };
      const answer = await request(chatPath, { id: 'talk', messages: [message] });
      return /"messageId":"(.*?)"/.exec(await answer.text())?.[1];
    };
    const costs = async (id: string) => {
      take();
      const shown = await say(id);
      const message = take();
      expect([shown, await say(id)]).toEqual([expect.any(String), shown]);
      return { message, repeat: take() };
    };
    for (let message = 0; message < 20; message++) await say(`short ${message}`);
    const short = await costs('a');
    for (let message = 0; message < 90; message++) await say(`long ${message}`);
    const long = await costs('b');
    for (const what of ['message', 'repeat'] as const)
      expect(long[what].records, what).toBeLessThanOrEqual(1.25 * short[what].records + 50);
  });

  test('a repeated message is answered once and shown completely', async () => {
    const { browse, request, taskOf } = await serve(loopAgent(script, { tools: [look] }));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    const [first] = chat.messages;
    const again = browse('talk');
    await again.sendMessage({ ...first, parts: first?.parts ?? [] });
    expect(again.messages).toEqual(chat.messages);
    const { id } = await taskOf('talk');
    const messages = await (await request(`/messages?task_id=${id}`)).json();
    expect(messages).toHaveLength(6);
  });

  test('a changed message is rejected, because the task keeps the original', async () => {
    const { browse } = await serve(loopAgent(script, { tools: [look] }));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    const messageId = chat.messages[0]?.id ?? '';
    await chat.sendMessage({ text: 'Is it here?', messageId });
    expect([chat.status, chat.error?.message]).toEqual([
      'error',
      expect.stringContaining('Cannot change a message of chat talk'),
    ]);
  });

  test('regenerate sends the last message again, and no earlier one', async () => {
    const { browse, request, taskOf } = await serve(loopAgent(['One', 'Two', 'Three']));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'First' });
    await chat.sendMessage({ text: 'Second' });
    await chat.regenerate();
    expect([rolesIn(chat), chat.text]).toEqual([
      ['user', 'assistant', 'user', 'assistant'],
      'Three',
    ]);
    const { id } = await taskOf('talk');
    expect(await (await request(`/messages?task_id=${id}`)).json()).toHaveLength(6);
    const [, answer] = chat.messages;
    await chat.regenerate({ messageId: answer?.id ?? '' });
    expect(chat.error?.message).toContain('this is not the last message');
  });

  test('an error of the run is an error of the chat; the partial answer stays, and retry works', async () => {
    const fault = { type: 'error', after: 3, error: 'auth' } as const;
    const { browse } = await serve(
      loopAgent([{ content: { parts: ['Half an answer'] }, fault }, 'A whole one']),
    );
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Well?' });
    expect([chat.status, chat.error?.message]).toEqual(['error', expect.stringContaining('auth')]);
    expect('Half an answer'.startsWith(chat.text) && chat.text !== '').toBe(true);
    await chat.regenerate();
    expect([chat.status, chat.text]).toEqual(['ready', 'A whole one']);
  });

  test('an abort by another client ends the message and keeps its partial text', async () => {
    const { browse, request, taskOf } = await serve(loopAgent([stalls, 'Back again']));
    const chat = browse('talk');
    const sent = chat.sendMessage({ text: 'Hi' });
    await chat.waitUntil(({ text }) => text !== '');
    const { id } = await taskOf('talk');
    expect((await request(`/tasks/${id}/commands`, { type: 'abort' })).status).toBe(202);
    await sent;
    expect([chat.status, 'One moment please'.startsWith(chat.text)]).toEqual(['ready', true]);
    await chat.sendMessage({ text: 'And now?' });
    expect(chat.text).toBe('Back again');
  });

  test('a message that is queued behind an aborted run gets an error and stays queued', async () => {
    const { browse, request, taskOf, log } = await serve(loopAgent([stalls, 'First', 'Second']));
    const [chat, other] = [browse('talk'), browse('talk')];
    const sent = [chat.sendMessage({ text: 'One' })];
    await chat.waitUntil(({ text }) => text !== '');
    const { id } = await taskOf('talk');
    sent.push(other.sendMessage({ text: 'Two' }));
    await eventually(async () => {
      const { records } = await log.read(sessionId(id));
      return records.filter(({ fact }) => fact?.type === 'command_queued').length === 2;
    });
    await request(`/tasks/${id}/commands`, { type: 'abort' });
    await Promise.all(sent);
    expect([chat.status, other.status]).toEqual(['ready', 'error']);
    expect(other.error?.message).toContain(
      'The message is queued and is answered together with the next one',
    );
    await chat.sendMessage({ text: 'And now?' });
    const last = chat.lastMessage?.parts.map(({ type }) => type);
    expect([chat.status, last]).toEqual(['ready', expect.arrayContaining(['text'])]);
  });

  test('a disconnect does not stop the answer, and the stream can be resumed', async () => {
    const { browse, request, taskOf } = await serve(loopAgent([stalls]));
    const chat = browse('talk');
    const sent = chat.sendMessage({ text: 'Hi' });
    const hasFirstWord = ({ text }: { readonly text: string }) => text === 'One';
    await chat.waitUntil(hasFirstWord);
    await chat.stop();
    await sent;
    const other = browse('talk');
    const resumed = other.resumeStream();
    await other.waitUntil(hasFirstWord);
    const { id } = await taskOf('talk');
    await request(`/agents/name/helper/rpc`, {
      ...{ jsonrpc: '2.0', id: 1, method: 'task/interrupt', params: { task_id: id } },
    });
    await resumed;
    expect([other.status, other.lastMessage?.id]).toEqual(['ready', chat.lastMessage?.id]);
  });
});

describe.each(['wait', 'park'] as const)('approvals with whileAsking: %s', (whileAsking) => {
  const options = { tools: [look], approve: (): 'ask' => 'ask', whileAsking } as const;
  const asks = { content: { parts: ['May I?', call('c1')] } };

  test('are answered by addToolApprovalResponse, and the message continues', async () => {
    const { browse } = await serve(loopAgent([asks, 'It is.'], options));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    expect([chat.status, toolIn(chat)]).toMatchObject(['ready', { state: 'approval-requested' }]);
    await chat.addToolApprovalResponse({ id: 'c1', approved: true });
    await chat.waitUntil(({ text }) => text.includes('It is.'));
    expect(rolesIn(chat)).toEqual(['user', 'assistant']);
    expect(chat.lastMessage?.parts.map(({ type }) => type)).toEqual([
      ...['step-start', 'text', 'tool-look', 'step-start', 'text'],
    ]);
    expect(toolIn(chat)).toMatchObject({
      ...{ state: 'output-available', output: 'It is there', approval: { approved: true } },
    });
  });

  test('20.4: of a sub-agent are answered in the same way', async () => {
    const withHelper = (log: Log) => {
      const provider = scriptedProvider([asks, 'I looked.']);
      const agent = createAgent({ provider, log, tools: [look], approve: options.approve });
      const help = subAgent({ name: 'help', description: 'Helps', agent });
      const task = toolCallPart(toolCallId('t1'), 'help', { task: 'Look' });
      const script = [{ content: { parts: ['I ask.', task] } }, 'It is.'];
      return loopAgent(script, { tools: [help], whileAsking })(log);
    };
    const { browse } = await serve(withHelper);
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    const part = toolIn(chat) as { readonly toolCallId: string } | undefined;
    expect([chat.status, part]).toMatchObject(['ready', { state: 'approval-requested' }]);
    await chat.addToolApprovalResponse({ id: part?.toolCallId ?? '', approved: true });
    await chat.waitUntil(({ text }) => text.includes('It is.'));
    expect(chat.lastMessage?.parts.map(({ type }) => type)).toEqual([
      ...['step-start', 'text', 'tool-help', 'step-start', 'text'],
    ]);
    expect(chat.lastMessage?.parts[2]).toMatchObject({ output: 'I looked.' });
  });

  test('that are denied show the reason', async () => {
    const { browse } = await serve(loopAgent([asks, 'Then not.'], options));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    await chat.addToolApprovalResponse({ id: 'c1', approved: false, reason: 'It is private' });
    await chat.waitUntil(({ text }) => text.includes('Then not.'));
    const approval = { approved: false, reason: 'It is private' };
    expect(toolIn(chat)).toMatchObject({ state: 'output-denied', approval });
  });

  test('are shown to a second client, which can answer; the first client sees the result', async () => {
    const { browse, request } = await serve(loopAgent([asks, 'It is.'], options));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    const other = browse('talk');
    await other.resumeStream();
    expect(other.lastMessage).toEqual(chat.lastMessage);
    const loaded = (await (await request(`${chatPath}/talk`)).json()) as { messages: UIMessage[] };
    expect(loaded.messages.at(-1)).toEqual(chat.lastMessage);
    await other.addToolApprovalResponse({ id: 'c1', approved: true });
    await other.waitUntil(({ text }) => text.includes('It is.'));
    await chat.addToolApprovalResponse({ id: 'c1', approved: true });
    await chat.waitUntil(({ text }) => text.includes('It is.'));
    expect(toolIn(chat)).toMatchObject({ state: 'output-available' });
    expect(chat.text).toBe('May I?|It is.');
  });

  test('21.N: that come late with another answer are refused with what was decided', async () => {
    const { browse } = await serve(loopAgent([asks, 'It is.'], options));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    const other = browse('talk');
    await other.resumeStream();
    await other.addToolApprovalResponse({ id: 'c1', approved: true });
    await other.waitUntil(({ text }) => text.includes('It is.'));
    await chat.addToolApprovalResponse({ id: 'c1', approved: false });
    await chat.waitUntil(({ error }) => error !== undefined);
    const { message, code } = JSON.parse(chat.error?.message ?? '') as Record<string, unknown>;
    expect([code, message]).toEqual([409, expect.stringContaining('it was allowed by chat')]);
  });

  test('block new messages until they are answered', async () => {
    const { browse } = await serve(loopAgent([asks, 'It is.'], options));
    const chat = browse('talk');
    await chat.sendMessage({ text: 'Is it there?' });
    await chat.sendMessage({ text: 'Hello?' });
    expect(chat.error?.message).toContain('calls wait for an approval (c1)');
  });

  test('that are not pending are rejected', async () => {
    const { browse, request } = await serve(loopAgent([asks, 'It is.'], options));
    await browse('talk').sendMessage({ text: 'Is it there?' });
    const approval = { id: 'c9', approved: true };
    const part = { type: 'tool-look', toolCallId: 'c9', state: 'approval-responded', approval };
    const messages = [{ id: 'm', role: 'assistant', parts: [part] }];
    const refused = await request(chatPath, { id: 'talk', messages });
    expect([refused.status, await refused.text()]).toEqual([
      ...[400, expect.stringContaining('it is not pending')],
    ]);
    expect((await request(chatPath, { id: 'unknown', messages })).status).toBe(404);
  });
});

test('several approvals at once are answered together', async () => {
  const asks = { content: { parts: ['May I?', call('c1'), call('c2')] } };
  const options = { tools: [look], approve: (): 'ask' => 'ask' } as const;
  const { browse } = await serve(loopAgent([asks, 'It is.'], options));
  const chat = browse('talk');
  await chat.sendMessage({ text: 'Is it there?' });
  await chat.addToolApprovalResponse({ id: 'c1', approved: true });
  await chat.addToolApprovalResponse({ id: 'c2', approved: false });
  await chat.waitUntil(({ text }) => text.includes('It is.'));
  const states = [0, 1].map((at) => toolIn(chat, at));
  expect(states).toMatchObject([{ state: 'output-available' }, { state: 'output-denied' }]);
});

test.each(['sync', 'async'] as const)('a %s agent answers in a chat', async (type) => {
  const greet = async function* () {
    yield { type: 'start', index: 0, content: agentText('') } as const;
    for (const word of ['Hel', 'lo']) yield textDelta(0, word);
    yield { type: 'done', index: 0 } as const;
  };
  const agents: readonly ServedAgent[] =
    type === 'sync'
      ? [{ type, name: 'helper', onMessage: greet }]
      : [
          {
            ...{ type, name: 'helper', onTaskCreate: async () => {} },
            async onEvent(_event, { stream }) {
              await using message = await stream.open(agentText(''));
              for (const word of ['Hel', 'lo']) await message.write(textDelta(0, word));
            },
          },
        ];
  const { browse, taskOf, request } = await serve(() => agents);
  const chat = browse('talk');
  await chat.sendMessage({ text: 'Say hello' });
  expect([chat.status, rolesIn(chat), chat.text]).toEqual([
    ...['ready', ['user', 'assistant'], 'Hello'],
  ]);
  const [first] = chat.messages;
  const again = browse('talk');
  await again.sendMessage({ ...first, parts: first?.parts ?? [] });
  expect(again.messages).toEqual(chat.messages);
  const { id } = await taskOf('talk');
  const stored = await (await request(`/messages?task_id=${id}`)).json();
  expect(stored).toHaveLength(type === 'sync' ? 2 : 1);
  await chat.sendMessage({ text: 'Once more' });
  expect(chat.messages.at(-1)?.id).not.toBe(again.lastMessage?.id);
  expect(chat.text).toBe('Hello');
});

test('invalid requests get an error and create nothing', async () => {
  const { request } = await serve(loopAgent(['Hi']));
  const user = (parts: object) => ({ id: 'm1', role: 'user', parts });
  const file = { type: 'file', mediaType: 'image/png', url: 'data:,' };
  const refusals: readonly (readonly [object, number, string])[] = [
    [{ id: 'new', messages: [] }, 422, 'messages'],
    [{ id: 'new', messages: [user([])] }, 422, 'it has no text'],
    [{ id: 'new', messages: [user([file])] }, 422, 'is not a base64 data URL'],
    [{ id: '', messages: [user([{ type: 'text', text: 'Hi' }])] }, 422, 'id'],
    [{ id: 'new', messages: [{ role: 'assistant', parts: [] }] }, 422, 'Cannot find new input'],
    [
      { id: 'new', messages: [user([{ type: 'text', text: 'x' }])], trigger: 'regenerate-message' },
      ...([404, 'it has no messages'] as const),
    ],
  ];
  for (const [body, status, words] of refusals) {
    const response = await request(chatPath, body);
    expect([response.status, await response.text()]).toEqual([
      status,
      expect.stringContaining(words),
    ]);
  }
  expect((await request('/tasks/name/new')).status).toBe(404);
  expect((await request('/agents/name/unknown/chat/new/stream')).status).toBe(404);
  expect((await request(`${chatPath}/new/stream`)).status).toBe(204);
});
