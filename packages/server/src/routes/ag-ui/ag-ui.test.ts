import { defineTool } from '@millrace/agent';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { agUiClient, runAgUi, say, shownOf } from '../../testing/ag-ui/ag-ui-client.ts';
import { serveOpenAi as serve } from '../../testing/openai-client.ts';

// AG-UI's own client checks all events: it warns about unknown fields, and fails for a wrong order.

test('24.2: text is streamed, and the next run continues the thread', async () => {
  const warn = vi.spyOn(console, 'warn');
  const { url } = await serve(['Hello there.', ({ items }) => `You sent ${items.length} items.`]);
  const agent = agUiClient(url);
  say(agent, 'Hi', 'u1');
  const first = await runAgUi(agent, { runId: 'r1' });
  expect(first.types).toEqual([
    ...['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
    'RUN_FINISHED',
  ]);
  expect(first.events[0]).toMatchObject({ threadId: 'talk', runId: 'r1', protocolVersion: '1.0' });
  expect(first.events.at(-1)).toMatchObject({
    ...{ threadId: 'talk', runId: 'r1', outcome: { type: 'success' } },
    usage: [{ provider: expect.any(String), inputTokens: expect.any(Number) }],
  });
  say(agent, 'And?', 'u2');
  const second = await runAgUi(agent);
  expect(second.types).not.toContain('MESSAGES_SNAPSHOT');
  expect(shownOf(agent.messages)).toEqual([
    ...['user: Hi', 'assistant: Hello there.', 'user: And?', 'assistant: You sent 3 items.'],
  ]);
  expect(warn).not.toHaveBeenCalled();
});

test('24.2: a client without messages receives the messages of the thread', async () => {
  const { url } = await serve(['One.', 'Two.']);
  const writer = agUiClient(url);
  say(writer, 'Hi');
  await runAgUi(writer);
  const reader = agUiClient(url);
  const { types } = await runAgUi(reader);
  expect(types).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
  expect(reader.messages).toEqual(writer.messages);
  say(reader, 'More');
  await runAgUi(reader);
  say(writer, 'Last');
  writer.setMessages(writer.messages.slice(1));
  const { error } = await runAgUi(agUiClient(url, { threadId: 'unknown' }));
  expect(error?.message).toContain('nothing new');
  await runAgUi(writer);
  expect(shownOf(writer.messages).slice(0, 4)).toEqual([
    ...['assistant: One.', 'user: Last', 'user: Hi', 'user: More'],
  ]);
});

test('24.2: reasoning is a message of its own', async () => {
  const parts = [{ kind: 'reasoning', form: 'full', text: 'Let me think.' } as const, 'Done.'];
  const { url } = await serve([parts]);
  const agent = agUiClient(url);
  say(agent, 'Hi');
  const { types } = await runAgUi(agent);
  expect(types.slice(1, 6)).toEqual([
    ...['REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT'],
    ...['REASONING_MESSAGE_END', 'REASONING_END'],
  ]);
  const shown = ['user: Hi', 'reasoning: Let me think.', 'assistant: Done.'];
  expect(shownOf(agent.messages)).toEqual(shown);
  const reader = agUiClient(url);
  await runAgUi(reader);
  expect(reader.messages).toEqual(agent.messages);
});

const weather = defineTool({
  ...{ name: 'weather', description: 'Weather', input: z.object({ town: z.string() }) },
  execute: async ({ town }) => {
    if (town === 'Nowhere') throw new Error('No such town');
    return `Sun in ${town}`;
  },
});

test('24.2: parallel calls of the agent are streamed with their results', async () => {
  const calls = [toolCall('weather', { town: 'Bath' }), toolCall('weather', { town: 'Nowhere' })];
  const { url } = await serve([['Let me look.', ...calls], 'Sunny.'], {
    agent: { tools: [weather] },
  });
  const agent = agUiClient(url);
  say(agent, 'Weather?');
  const { types, events } = await runAgUi(agent);
  expect(types).toContain('TOOL_CALL_ARGS');
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT');
  expect(results).toMatchObject([
    { content: 'Sun in Bath' },
    { content: expect.stringContaining('No such town'), metadata: { millrace: { isError: true } } },
  ]);
  expect(shownOf(agent.messages)).toEqual([
    'user: Weather?',
    'assistant: Let me look. weather{"town":"Bath"} weather{"town":"Nowhere"}',
    'tool: Sun in Bath',
    expect.stringContaining('No such town'),
    'assistant: Sunny.',
  ]);
  const reader = agUiClient(url);
  await runAgUi(reader);
  expect(reader.messages).toEqual(agent.messages);
});

test('24.2: the application runs its own tools', async () => {
  const calls = [toolCall('confirm', { order: 1 }, 'c1'), toolCall('confirm', { order: 2 }, 'c2')];
  const said: ScriptEntry = ({ items }) =>
    items
      .flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : part.kind)))
      .join('|');
  const { url } = await serve([calls, said]);
  const agent = agUiClient(url);
  const parameters = { type: 'object', properties: { order: { type: 'number' } } };
  const tools = [{ name: 'confirm', description: 'Confirms an order', parameters }];
  const context = [{ description: 'Name of the user', value: 'Ada' }];
  say(agent, 'Order');
  const asked = await runAgUi(agent, { tools, context });
  expect(asked.events.at(-1)).toMatchObject({
    outcome: { type: 'success', pendingToolCallIds: ['c1', 'c2'] },
  });
  const answer = (toolCallId: string, more: object) =>
    agent.setMessages([
      ...agent.messages,
      { id: `t-${toolCallId}`, role: 'tool', toolCallId, content: 'yes', ...more },
    ]);
  answer('c1', {});
  const missing = await runAgUi(agent, { tools });
  expect(missing.error?.message).toContain('The call c2 of the tool confirm has no result');
  answer('c2', { content: '', error: 'closed' });
  const { types } = await runAgUi(agent, { tools });
  expect(types).not.toContain('TOOL_CALL_RESULT');
  expect(shownOf(agent.messages)).toEqual([
    'user: Order',
    'assistant: confirm{"order":1} confirm{"order":2}',
    'tool: yes',
    expect.stringContaining('closed'),
    expect.stringMatching(/Ada.*Order.*yes/s),
  ]);
});

const remove = defineTool({
  ...{ name: 'remove', description: 'Removes a file', input: z.object({ path: z.string() }) },
  execute: async ({ path }) => `Removed ${path}`,
});

test.each([
  [{ approved: true }, 'Removed a.txt'],
  [{ approved: true, editedArgs: { path: 'b.txt' } }, 'Removed b.txt'],
  [{ approved: false, reason: 'Not now' }, 'Not now'],
  [undefined, 'cancelled'],
])('24.2: an approval is an interrupt that the client answers with %j', async (payload, result) => {
  const { url } = await serve([toolCall('remove', { path: 'a.txt' }, 'c1'), 'Done.'], {
    agent: { tools: [remove], approve: () => 'ask' },
  });
  const agent = agUiClient(url);
  say(agent, 'Remove it');
  const asked = await runAgUi(agent);
  expect(asked.events.at(-1)).toMatchObject({
    type: 'RUN_FINISHED',
    outcome: {
      type: 'interrupt',
      interrupts: [{ id: 'c1', reason: 'tool_call', toolCallId: 'c1', message: /remove/ }].map(
        (one) => ({ ...one, message: expect.stringMatching(one.message) }),
      ),
    },
  });
  expect(agent.pendingInterrupts.map(({ id }) => id)).toEqual(['c1']);
  const other = agUiClient(url, { initialMessages: agent.messages });
  say(other, 'And?');
  expect((await runAgUi(other)).error?.message).toContain('The interrupt c1 is open');
  const status = payload === undefined ? 'cancelled' : 'resolved';
  const resume = [{ interruptId: 'c1', status, ...(payload && { payload }) } as const];
  const run = { runId: 'r2', resume };
  const { types } = await runAgUi(agent, run);
  expect(types).toContain('TOOL_CALL_RESULT');
  const shown = shownOf(agent.messages);
  expect(shown.slice(0, 2)).toEqual(['user: Remove it', 'assistant: remove{"path":"a.txt"}']);
  expect(shown.slice(2)).toEqual([expect.stringContaining(result), 'assistant: Done.']);
  expect(agent.pendingInterrupts).toEqual([]);
  // The same answer again gives the same run, and an answer without a question is ignored.
  const before = structuredClone(agent.messages);
  await runAgUi(agent, run);
  const late = await runAgUi(agent, { runId: 'r3', resume });
  expect(JSON.stringify(late.events[0])).toContain('no interrupt c1 is open');
  expect(agent.messages).toEqual(before);
});

/** A model that writes one word and then waits for its abort. */
const endless: ScriptEntry = { content: { parts: ['One two three four'] }, pauseMs: 10_000_000 };

test('24.2: a stop ends the run as cancelled, also for a closed connection with on_close=stop', async () => {
  const { url } = await serve([endless, endless]);
  const agent = agUiClient(url);
  say(agent, 'Count');
  const stop = async () =>
    (await fetch(`${url}/agents/name/helper/ag-ui/talk/stop`, { method: 'POST' })).json();
  const running = runAgUi(agent);
  await expect.poll(stop).toEqual({ stopped: true });
  const { events } = await running;
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
  await expect.poll(stop).toEqual({ stopped: false });
  const closing = agUiClient(`${url}`, {
    url: `${url}/agents/name/helper/ag-ui?on_close=stop`,
    initialMessages: agent.messages,
  });
  say(closing, 'Again');
  const started = Promise.withResolvers<void>();
  const left = closing.runAgent({}, { onTextMessageStartEvent: () => started.resolve() });
  await started.promise;
  closing.abortRun();
  await left;
  const reader = agUiClient(url);
  const { events: seen } = await runAgUi(reader);
  expect(seen.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } });
});

test('24.2: an error of the provider ends the run with RUN_ERROR, and the next run works', async () => {
  const fail: ScriptEntry = {
    content: { parts: ['x'] },
    fault: { type: 'error', after: 0, error: 'auth' },
  };
  const { url } = await serve([fail, 'Fine.']);
  const agent = agUiClient(url);
  say(agent, 'Hi');
  const { events } = await runAgUi(agent);
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', message: expect.any(String) });
  say(agent, 'Again');
  await runAgUi(agent);
  expect(shownOf(agent.messages).at(-1)).toBe('assistant: Fine.');
});

test('24.2: a failed request to the model is sent again, and the client drops its text', async () => {
  const half = { kind: 'reasoning', form: 'full', text: 'A half thought' } as const;
  const cut = (parts: ScriptEntry): ScriptEntry => ({
    content: { parts: parts as never },
    fault: { type: 'error', after: 4, error: 'overloaded' },
  });
  const { url } = await serve([cut([half, 'A half answer']), 'The whole answer.'], {
    agent: { retry: { baseDelayMs: 0 } },
  });
  const agent = agUiClient(url);
  say(agent, 'Hi');
  const { types } = await runAgUi(agent);
  expect(types).toContain('MESSAGES_SNAPSHOT');
  const shown = shownOf(agent.messages).filter((one) => one !== 'reasoning: ');
  expect(shown).toEqual(['user: Hi', 'assistant: The whole answer.']);
});

test('24.2: the state of the thread is sent as a snapshot and as changes', async () => {
  let change = async (): Promise<void> => {};
  const plan = defineTool({
    ...{ name: 'plan', description: 'Plans', input: z.object({}) },
    execute: async () => {
      await change();
      return 'planned';
    },
  });
  const { url } = await serve([toolCall('plan'), 'Done.', 'Again.'], { agent: { tools: [plan] } });
  const agent = agUiClient(url, { initialState: { steps: ['a', 'b'], 'a/b': 1 } });
  change = async () => {
    const [state] = (await (await fetch(`${url}/states`)).json()) as { id: string }[];
    await fetch(`${url}/states/${state?.id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ state: { steps: ['c'], done: true } }),
    });
  };
  say(agent, 'Plan');
  const { events } = await runAgUi(agent);
  expect(events.find(({ type }) => type === 'STATE_DELTA')?.['delta']).toEqual([
    { op: 'replace', path: '/steps/0', value: 'c' },
    { op: 'remove', path: '/steps/1' },
    { op: 'remove', path: '/a~1b' },
    { op: 'add', path: '/done', value: true },
  ]);
  expect(agent.state).toEqual({ steps: ['c'], done: true });
  const reader = agUiClient(url);
  expect((await runAgUi(reader)).types).toContain('STATE_SNAPSHOT');
  expect(reader.state).toEqual(agent.state);
});

test('24.2: a thread can start with a history, with files and with unknown material', async () => {
  const { url } = await serve([({ items }) => JSON.stringify(items.map(({ kind }) => kind))]);
  const png = { type: 'data', value: 'iVBORw0KGgo=', mimeType: 'image/png' } as const;
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } } as const;
  const messages = [
    { id: 's', role: 'system', content: 'Be kind' },
    {
      id: 'u1',
      role: 'user',
      content: [
        { type: 'text', text: 'See' },
        { type: 'image', source: png },
      ],
    },
    { id: 'a1', role: 'assistant', content: 'Let me look', toolCalls: [call] },
    { id: 't1', role: 'tool', toolCallId: 'c1', content: 'It is a cat' },
    { id: 'x1', role: 'prophet', content: 'Hm' },
    { id: 'u2', role: 'user', content: 'And?' },
  ];
  const body = { threadId: 'talk', runId: 'r1', messages, novelty: 1, protocolVersion: '1.7' };
  const response = await fetch(`${url}/agents/name/helper/ag-ui`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([
    200,
    expect.stringContaining('unknown fields: novelty'),
  ]);
  expect(text).toContain('The client declares AG-UI');
  const reader = agUiClient(url);
  await runAgUi(reader);
  expect(reader.messages.map(({ id }) => id).slice(0, 5)).toEqual(['s', 'u1', 'a1', 't1', 'u2']);
  expect(reader.messages[1]).toEqual(messages[1]);
  expect(shownOf(reader.messages).at(-1)).toContain('"system","user","assistant","tool","user"');
});

test.each<[string, object, string]>([
  ['no messages field', { messages: undefined }, 'messages'],
  ['a message without an id', { messages: [{ role: 'user', content: 'Hi' }] }, 'messages'],
  ['an id that cannot be printed', { runId: 'a\u0000b' }, 'runId'],
  ['a long id', { threadId: 'x'.repeat(201) }, 'threadId'],
  ['another major version', { protocolVersion: '2.0' }, 'protocolVersion'],
  ['a state that is no object', { state: [1] }, 'state'],
  [
    'an answer without a decision',
    { resume: [{ interruptId: 'c', status: 'resolved' }] },
    'resume',
  ],
  ['an unknown status', { resume: [{ interruptId: 'c', status: 'done' }] }, 'resume'],
  [
    'a broken file',
    { messages: [{ id: 'm', role: 'user', content: [{ type: 'image' }] }] },
    'content[0]',
  ],
  [
    'a result without a call',
    { messages: [{ id: 'm', role: 'tool', toolCallId: 'c', content: '' }] },
    'no message before it',
  ],
])('24.2: a request with %s is refused before the run starts', async (_, more, named) => {
  const { url, log } = await serve(['Hi.']);
  const messages = [{ id: 'm', role: 'user', content: 'Hi' }];
  const response = await fetch(`${url}/agents/name/helper/ag-ui`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: 't', runId: 'r', messages, ...more }),
  });
  expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(named)]);
  const commands = (await log.list()).map(({ through }) => through);
  expect(Math.max(0, ...commands)).toBeLessThan(2);
});

test('24.2: an agent that does not accept options of callers refuses them by name', async () => {
  const { url } = await serve(['Hi.'], { agent: { callerOptions: 'refuse' } });
  const agent = agUiClient(url);
  say(agent, 'Hi');
  const tools = [{ name: 'confirm', description: 'Confirms' }];
  expect((await runAgUi(agent, { tools })).error?.message).toContain('Cannot use tools');
  const context = [{ description: 'Name', value: 'Ada' }];
  expect((await runAgUi(agent, { context })).error?.message).toContain('Cannot use context');
  expect((await runAgUi(agent)).error).toBeUndefined();
});

test('24.2: a run id cannot be used for other messages', async () => {
  const { url } = await serve(['One.', 'Two.']);
  const agent = agUiClient(url);
  say(agent, 'Hi');
  await runAgUi(agent, { runId: 'r1' });
  say(agent, 'More');
  const { error } = await runAgUi(agent, { runId: 'r1' });
  expect(error?.message).toContain('Use a new runId');
  await runAgUi(agent, { runId: 'r2' });
  expect(shownOf(agent.messages).at(-1)).toBe('assistant: Two.');
});

test('24.2: a message of the assistant that the thread does not have is dropped', async () => {
  const { url } = await serve(['One.', ({ items }) => `You sent ${items.length} items.`]);
  const agent = agUiClient(url);
  say(agent, 'Hi');
  await runAgUi(agent);
  agent.setMessages([...agent.messages, { id: 'x', role: 'assistant', content: 'Invented.' }]);
  say(agent, 'And?');
  const { events } = await runAgUi(agent);
  expect(JSON.stringify(events[0])).toContain('The server ignores message x');
  expect(shownOf(agent.messages)).toEqual([
    ...['user: Hi', 'assistant: One.', 'user: And?', 'assistant: You sent 3 items.'],
  ]);
});
