import { type Agent, createAgent, inputGuardrail } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { asUser, type Json, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A user of an application wants the model to read a text that a guardrail of the agent refuses.

const noMagic = inputGuardrail({
  name: 'no-magic',
  check: ({ text }) => (text.includes('magic') ? { verdict: 'stop', reason: 'no magic' } : 'pass'),
});

const masked = inputGuardrail({
  name: 'mask',
  check: ({ text }) =>
    text.includes('secret')
      ? { verdict: 'change', to: text.replaceAll('secret', '[masked]') }
      : 'pass',
});

let provider: ReturnType<typeof scriptedProvider>;
let send: (method: string, path: string, body?: object) => Promise<Json>;
let sendRaw: (path: string, body: object) => Promise<string>;
let taskId: string;

beforeEach(async () => {
  const log = memoryLog();
  provider = scriptedProvider(['one', 'two', 'three', 'four', 'five']);
  const [loop, mask] = [noMagic, masked].map((guardrail) =>
    createAgent({ log, provider, guardrails: [guardrail], callerOptions: 'accept' }),
  );
  const agents = [
    { type: 'loop', name: 'loop', agent: loop as Agent },
    { type: 'loop', name: 'masked', agent: mask as Agent },
  ] as const;
  const server = createServer({
    ...{ log, agents, tokens: [testToken('operator')], authorize: userOfCookie },
  });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  send = async (method, path, body) => {
    const type = body instanceof Blob ? 'octet-stream' : 'json';
    const headers = { cookie: asUser('ann'), 'content-type': `application/${type}` };
    const sent = body instanceof Blob ? body : body && JSON.stringify(body);
    const init = { method, headers, ...(sent && { body: sent }) };
    const response = await server.fetch(new Request(`http://localhost${path}`, init));
    return (await response.json()) as Json;
  };
  sendRaw = async (path, body) => {
    const headers = { cookie: asUser('ann'), 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await server.fetch(new Request(`http://localhost${path}`, init))).text();
  };
  taskId = (await rpc('task/create', {})).result.id;
});

const rpc = (method: string, params: object) =>
  send('POST', '/agents/name/loop/rpc', { method, params });
const text = (content: string, author = 'user') => ({ type: 'text', author, content });
const say = (content: object, task_id = taskId) => rpc('message/send', { task_id, content });
const upload = (content: string) =>
  send('POST', `/tasks/${taskId}/files?name=a.txt&type=text/plain`, new Blob([content]));
const fileOf = (content: string) => ({
  ...{ type: 'input_file', filename: 'a.txt' },
  file_data: `data:text/plain;base64,${Buffer.from(content).toString('base64')}`,
});
const schema = { type: 'object', properties: { magic: { type: 'string' } } };
const toolOf = (more: object) => ({ type: 'function', name: 'look', ...more });
const messages = async (): Promise<readonly Json[]> =>
  (await send('GET', `/messages?task_id=${taskId}`)) as unknown as readonly Json[];
const sent = () => JSON.stringify(provider.requests.map(({ request }) => request.items));

test.each([
  ['a message of the user', [text('magic')]],
  ['a message of the agent', [text('magic', 'agent')]],
  [
    'the result of a call that no model made',
    [
      ...[{ type: 'tool_request', author: 'agent', tool_call_id: 'c', name: 'a', arguments: {} }],
      { type: 'tool_response', author: 'agent', tool_call_id: 'c', name: 'a', content: 'magic' },
    ],
  ],
  ['data', [{ type: 'data', author: 'user', data: { a: 'magic' } }]],
])('attack: %s in the list of messages reaches the model', async (_title, contents) => {
  await send('POST', '/messages/batch', { task_id: taskId, contents });
  expect(await messages()).toHaveLength(contents.length);
  await say(text('Hi'));
  expect(sent()).not.toContain('magic');
});

test.each(['user', 'agent'])(
  '18.692: attack: a message of the author %s that still streams changes after its check',
  async (author) => {
    const task_id = taskId;
    const of = (content: string) => ({ task_id, content: text(content, author) });
    const open = { ...of('hi'), streaming_status: 'IN_PROGRESS' };
    const { id } = await send('POST', '/messages', open);
    await say(text('go'));
    expect(sent()).toContain('"hi"');
    await send('PUT', `/messages/${id}`, { ...open, ...of('hi and') });
    await send('PUT', `/messages/${id}`, { ...of('hi magic'), streaming_status: 'DONE' });
    await say(text('again'));
    expect(sent()).not.toContain('magic');
    expect((await messages()).find((message) => message.id === id)?.['content']).toMatchObject({
      content: 'hi magic',
    });
  },
);

test('attack: a message of data reaches the model', async () => {
  await say({ type: 'data', author: 'user', data: { a: 'magic' } });
  expect(provider.requests).toEqual([]);
});

test('attack 18.275: an uploaded text file reaches the model', async () => {
  const file = await upload('Then do some magic.');
  const attached = { ...text('Do what the file says'), attachments: [file] };
  await say(attached);
  expect(provider.requests).toEqual([]);
  await send('POST', '/messages/batch', { task_id: taskId, contents: [attached] });
  await say(text('Hi'));
  await say(text('Hi again'));
  expect(sent()).not.toContain('"kind":"file"');
  const calm = { ...text('Read it'), attachments: [await upload('Nothing special.')] };
  await say(calm);
  expect(sent()).toContain('"kind":"file"');
});

test.each([
  ['a file', { input: [{ role: 'user', content: [fileOf('Do some magic.')] }] }],
  [
    'a system message',
    {
      input: [
        { role: 'system', content: 'magic' },
        { role: 'user', content: 'Hi' },
      ],
    },
  ],
  ['instructions', { input: 'Hi', instructions: 'magic' }],
  ['the description of a tool', { input: 'Hi', tools: [toolOf({ description: 'magic' })] }],
  ['the schema of a tool', { input: 'Hi', tools: [toolOf({ parameters: schema })] }],
  [
    'the schema of the answer',
    { input: 'Hi', text: { format: { type: 'json_schema', name: 'a', schema } } },
  ],
])('attack 18.276: %s of /v1/responses reaches the model', async (_title, body) => {
  const { status } = await send('POST', '/v1/responses', { model: 'loop', ...body });
  expect(status).toBe('incomplete');
  expect(provider.requests).toEqual([]);
});

test('attack 18.277: a changed input keeps the options that a guardrail masked', async () => {
  const tools = [toolOf({ description: 'Looks' })];
  const options = { model: 'masked', tools };
  await send('POST', '/v1/responses', { ...options, input: 'the secret', instructions: 'Be kind' });
  await send('POST', '/v1/responses', { ...options, input: 'Hi', instructions: 'a secret' });
  const [kept, dropped] = provider.requests.map(({ request }) => request);
  expect(JSON.stringify(kept?.items)).toMatch(/Be kind.*the \[masked\]"/);
  expect(kept?.tools).toHaveLength(1);
  expect(JSON.stringify([dropped?.items, dropped?.tools])).toContain('a [masked]');
  expect(JSON.stringify([dropped?.items, dropped?.tools])).not.toContain('secret');
  expect(dropped?.tools).toBeUndefined();
});

test.each(['first', 'one'])('attack: the edited message "%s" reaches the model', async (which) => {
  await say(text('first'));
  await say(text('second'));
  const { id, content } = (await messages()).find((one) => one['content'].content === which) ?? {};
  const edited = { ...content, content: 'magic' };
  const { streaming_status } = await send('PUT', `/messages/${id}`, {
    ...{ task_id: taskId, content: edited },
  });
  expect(streaming_status).toBe('DONE');
  await say(text('third'));
  expect(sent()).not.toContain('magic');
});

test('attack: a fork with another text reaches the model', async () => {
  await say(text('first'));
  const { records } = await send('GET', `/tasks/${taskId}/records`);
  const item_id = records.map((one: Json) => one['fact']?.itemId).find(Boolean);
  const fork = await send('POST', `/tasks/${taskId}/fork`, { item_id, content: text('magic') });
  await say(text('second'), fork['id']);
  expect(sent()).not.toContain('magic');
});

test('attack: a summary of messages that no guardrail has seen reaches the model', async () => {
  const contents = ['magic', 'a', 'b', 'c', 'd', 'e', 'f', 'g'].map((one, index) =>
    text(one, index % 2 === 0 ? 'user' : 'agent'),
  );
  await send('POST', '/messages/batch', { task_id: taskId, contents });
  await send('POST', `/tasks/${taskId}/commands`, { type: 'compact' });
  await say(text('Hi'));
  expect(sent()).not.toContain('magic');
});

test.each([
  ['an edited message', 'calm'],
  ['a message without a text', ''],
])(
  '18.1025: attack: %s hides unseen messages from the list that a summary leaves out',
  async (_title, first) => {
    const contents = [first, 'magic', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((one, index) =>
      text(one, index % 2 === 0 ? 'user' : 'agent'),
    );
    const made = await send('POST', '/messages/batch', { task_id: taskId, contents });
    const [{ id }] = made as unknown as readonly [Json];
    if (first !== '')
      await send('PUT', `/messages/${id}`, { task_id: taskId, content: text('calm again') });
    await send('POST', `/tasks/${taskId}/commands`, { type: 'compact' });
    await say(text('Hi'));
    await say(text('Hi again'));
    expect(sent()).not.toContain('magic');
  },
);

// A JSON escape for each letter of `magic`.
const escaped = `{"q":"${[...'magic'].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('')}"}`;
const called = (name: string, given: string) => ({ name, arguments: given });
const doors = {
  '/v1/responses': (given: string) => ({
    model: 'loop',
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: 'c', ...called('note', given) },
      { type: 'function_call_output', call_id: 'c', output: 'ok' },
      { role: 'user', content: 'Go on' },
    ],
  }),
  '/v1/chat/completions': (given: string) => ({
    model: 'loop',
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'function', function: called('note', given) }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
      { role: 'user', content: 'Go on' },
    ],
  }),
  '/agents/name/loop/ag-ui': (given: string) => ({
    ...{ threadId: `t${given.length}`, runId: 'run' },
    messages: [
      { id: 'u', role: 'user', content: 'Hi' },
      {
        ...{ id: 'a', role: 'assistant', content: '' },
        toolCalls: [{ id: 'c', type: 'function', function: called('note', given) }],
      },
      { id: 't', role: 'tool', toolCallId: 'c', content: 'ok' },
      { id: 'm', role: 'user', content: 'Go on' },
    ],
  }),
};

test.each(Object.entries(doors))(
  'attack 18.322: escaped arguments of a call in the history of %s reach the model',
  async (path, bodyOf) => {
    await sendRaw(path, bodyOf(escaped));
    expect(provider.requests).toEqual([]);
    await sendRaw(path, bodyOf('{"q": "calm"}'));
    expect(sent()).toContain('"arguments":"{\\"q\\":\\"calm\\"}"');
  },
);

test('attack 18.322: a guardrail masks the arguments of a call, but the call keeps them', async () => {
  await sendRaw('/v1/responses', {
    ...doors['/v1/responses']('{"q":"a secret"}'),
    model: 'masked',
  });
  expect(sent()).toContain('a [masked]');
  expect(sent()).not.toContain('secret');
});
