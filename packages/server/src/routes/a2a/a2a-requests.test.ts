import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import { serveOpenAi as serve } from '../../testing/openai-client.ts';
import { testToken } from '../../testing/servers/test-server.ts';

const version = { 'a2a-version': '1.0' };
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] };

async function post(url: string, body: unknown, headers: Record<string, string> = version) {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: reply.status, type: reply.headers.get('content-type'), json: await json(reply) };
}

// biome-ignore lint/suspicious/noExplicitAny: the test reads many shapes
async function json(reply: Response): Promise<any> {
  const text = await reply.text();
  return text === '' ? undefined : JSON.parse(text);
}

test('24.5: the card names the agent, its bindings and its security', async () => {
  const { url } = await serve(['Hi.']);
  const reply = await fetch(`${url}/.well-known/agent-card.json`);
  const card = await json(reply);
  const at = `${url}/agents/name/helper/a2a`;
  expect(card).toMatchObject({
    ...{ name: 'helper', version: '1.0.0', skills: [{ id: 'helper' }] },
    supportedInterfaces: [
      { url: at, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: at, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, extendedAgentCard: false },
  });
  expect(card.securitySchemes).toBeUndefined();
  expect(await json(await fetch(`${at}/.well-known/agent-card.json`))).toEqual(card);
  const etag = reply.headers.get('etag') ?? '';
  const known = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: { 'if-none-match': etag },
  });
  expect(known.status).toBe(304);
});

test('24.5: a card needs a token, unless the server shows cards to everyone', async () => {
  const log = memoryLog();
  const loop = (name: string) => ({
    ...({ type: 'loop', name } as const),
    agent: createAgent({ provider: scriptedProvider([]), log }),
  });
  const serveWith = async (a2a: object) => {
    const server = createServer({
      ...{ tokens: [testToken('operator')], log, a2a, agents: [loop('one'), loop('two')] },
    });
    onTestFinished(() => server.close());
    return (await server.listen({ port: 0 })).url;
  };
  const path = '/.well-known/agent-card.json';
  const guarded = await serveWith({});
  expect((await fetch(guarded + path)).status).toBe(401);
  const headers = { authorization: `Bearer ${testToken('operator')}` };
  const several = await fetch(guarded + path, { headers });
  expect([several.status, await several.text()]).toEqual([
    404,
    expect.stringContaining('a2a.agent'),
  ]);
  const open = await serveWith({
    publicCards: true,
    agent: 'two',
    url: 'https://agents.example/x/',
  });
  expect(await json(await fetch(open + path))).toMatchObject({
    name: 'two',
    supportedInterfaces: [{ url: 'https://agents.example/x/agents/name/two/a2a' }, {}],
    securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  });
  expect((await post(`${open}/agents/name/two/a2a`, {})).status).toBe(401);
});

test.each([
  ['no version', {}, '0.3'],
  ['an old version', { 'a2a-version': '0.3' }, '0.3'],
  ['a new version', { 'a2a-version': '2.0' }, '2.0'],
])('24.5: a request with %s is told what the server speaks', async (_, headers, named) => {
  const { url } = await serve(['Hi.']);
  const at = `${url}/agents/name/helper/a2a`;
  const params = { message };
  const rpc = await post(at, { jsonrpc: '2.0', id: 7, method: 'SendMessage', params }, headers);
  expect(rpc.json).toMatchObject({
    ...{ jsonrpc: '2.0', id: 7 },
    error: {
      code: -32_009,
      message: expect.stringMatching(`${named} of A2A. This server speaks 1.0`),
      data: [{ reason: 'VERSION_NOT_SUPPORTED', domain: 'a2a-protocol.org' }],
    },
  });
  const http = await post(`${at}/message:send`, params, headers);
  expect(http).toMatchObject({
    ...{ status: 400, type: 'application/a2a+json' },
    json: { error: { code: 400, details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } },
  });
});

test('24.5: patches of the version and the query parameter are accepted', async () => {
  const { url } = await serve(['Hi.', 'Hi.']);
  const at = `${url}/agents/name/helper/a2a/message:send`;
  for (const [more, headers] of [
    ['', { 'a2a-version': '1.0.7', 'content-type': 'application/a2a+json' }],
    ['?A2A-Version=1.0', {}],
  ] as const)
    expect((await post(at + more, { message }, headers)).json).toMatchObject({
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    });
});

test.each<[string, unknown, number]>([
  ['text that is not JSON', '{', -32_700],
  ['a batch', [], -32_600],
  ['another version of JSON-RPC', { jsonrpc: '1.0', id: 1, method: 'GetTask' }, -32_600],
  ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'message/send' }, -32_601],
  ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: [] }, -32_602],
  ['an unknown task', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } }, -32_001],
  [
    'a task id of another kind',
    { jsonrpc: '2.0', id: 1, method: 'CancelTask', params: { id: 7 } },
    -32_001,
  ],
  ['no extended card', { jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard' }, -32_004],
])('24.5: JSON-RPC with %s gets the error of the protocol', async (_, body, code) => {
  const { url } = await serve(['Hi.']);
  const { status, json } = await post(`${url}/agents/name/helper/a2a`, body);
  expect([status, json]).toMatchObject([200, { jsonrpc: '2.0', error: { code } }]);
});

test.each<[string, object, string]>([
  ['no message', {}, 'message is missing'],
  ['no message id', { message: { ...message, messageId: '' } }, 'messageId'],
  ['a role of the agent', { message: { ...message, role: 'ROLE_AGENT' } }, 'role'],
  ['no parts', { message: { ...message, parts: [] } }, 'parts'],
  ['an empty part', { message: { ...message, parts: [{}] } }, 'parts[0]'],
  ['two contents', { message: { ...message, parts: [{ text: 'a', data: 1 }] } }, 'parts[0]'],
  ['a broken file', { message: { ...message, parts: [{ raw: '%' }] } }, 'Base64'],
  ['a local file', { message: { ...message, parts: [{ url: 'file:///etc/passwd' }] } }, 'url'],
  ['a strange history', { message, configuration: { historyLength: -1 } }, 'historyLength'],
  ['a context that has no valid name', { message: { ...message, contextId: 'a\u0000' } }, 'name'],
])('24.5: a message with %s is refused, and starts nothing', async (_, params, named) => {
  const { url, log } = await serve(['Hi.']);
  const { status, json } = await post(`${url}/agents/name/helper/a2a/message:send`, params);
  expect([status, json]).toMatchObject([
    400,
    { error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining(named) } },
  ]);
  expect(await log.list()).toEqual([]);
});

test('24.5: the HTTP+JSON binding answers with statuses and methods of the protocol', async () => {
  const { url } = await serve(['Hi.']);
  const at = `${url}/agents/name/helper/a2a`;
  const read = async (path: string) => {
    const reply = await fetch(at + path, { headers: version });
    return { status: reply.status, json: await json(reply) };
  };
  const { task } = (await post(`${at}/message:send`, { message })).json;
  expect(await read(`/tasks/${task.id}`)).toMatchObject({ status: 200, json: { id: task.id } });
  const unknown = { status: 404, json: { error: { details: [{ reason: 'TASK_NOT_FOUND' }] } } };
  expect(await read('/tasks/nothing')).toMatchObject(unknown);
  expect(await read('/tasks/nothing:subscribe')).toMatchObject(unknown);
  expect(await read(`/tasks/${task.id}:subscribe`)).toMatchObject({ status: 400 });
  expect((await read(`/tasks/${task.id}:cancel`)).status).toBe(405);
  expect((await post(`${at}/tasks/${task.id}:cancel`, {})).status).toBe(409);
  expect((await post(`${at}/tasks/${task.id}`, {})).status).toBe(405);
  expect((await post(`${at}/message:send`, '[]')).status).toBe(400);
  expect((await read('/tasks?pageSize=0')).status).toBe(400);
  expect((await read('/tasks?status=done')).status).toBe(400);
  expect((await read('/tasks?statusTimestampAfter=soon')).status).toBe(400);
  expect((await read('/tasks?statusTimestampAfter=2999-01-01T00:00:00Z')).json.tasks).toEqual([]);
  expect((await read('/tasks?contextId=x&pageToken=y')).status).toBe(400);
  expect((await read('/tasks?includeArtifacts=true')).json.tasks[0].artifacts).toHaveLength(1);
  expect((await read('/tasks')).json.tasks[0].artifacts).toBeUndefined();
  const type = { ...version, 'content-type': 'text/plain' };
  expect((await post(`${at}/message:send`, { message }, type)).status).toBe(415);
  const other = `${url}/agents/name/unknown/a2a/tasks`;
  expect((await fetch(other, { headers: version })).status).toBe(404);
});

test('24.5: a task of another context, or of no message, is not found', async () => {
  const { url } = await serve(['Hi.', 'Hi.']);
  const at = `${url}/agents/name/helper/a2a/message:send`;
  const { task } = (await post(at, { message })).json;
  const to = (more: object) => post(at, { message: { ...message, messageId: 'n', ...more } });
  expect((await to({ taskId: task.id, contextId: 'other' })).json.error.message).toContain(
    'another',
  );
  expect((await to({ taskId: task.id.replace(/\d+$/, '3') })).status).toBe(404);
  expect((await to({ taskId: task.id.replace(/\d+$/, '999999') })).status).toBe(404);
});
