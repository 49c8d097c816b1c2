import { createAgent, defineTool, type ToolOutput } from '@millrace/agent';
import { sessionId, toolCallId, toolCallPart, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { toolAgent } from '../../agents/tool-agent.ts';
import { createServer } from '../../create-server.ts';
import { createToken } from '../../http/access/token-store.ts';
import { asUser, userOfCookie } from '../../testing/scope-requests.ts';

const input = z.object({ city: z.string().optional() });

/** Starts a server with a task in which a tool has shown an app. The app can call `refresh`. */
async function shownApp({ hasAppAgent = true, as: caller = '' } = {}) {
  const log = memoryLog();
  const ran: string[] = [];
  const run = (name: string) =>
    defineTool({
      ...{ name, description: name, input },
      execute: async () => {
        ran.push(name);
        return `ran ${name}`;
      },
    });
  const mcpApp = { server: 'w', tool: 'show', tools: { refresh: 'w_refresh', order: 'w_order' } };
  const output: ToolOutput = { output: { text: 'shown', metadata: { mcpApp } } };
  const show = defineTool({
    ...{ name: 'w_show', description: 'Shows', input, execute: async () => output },
  });
  const plain = run('plain');
  const script = [
    {
      content: {
        parts: [
          toolCallPart(toolCallId('call_show'), 'w_show', {}),
          toolCallPart(toolCallId('call_plain'), 'plain', {}),
        ],
      },
    },
    { content: { parts: ['Here you are.'] } },
  ];
  const agent = createAgent({ log, tools: [show, plain], provider: scriptedProvider(script) });
  const operator = createToken();
  const token = caller || operator;
  const tools = ['w_refresh', 'w_order', 'w_delete'].map(run);
  const server = createServer({
    ...{ tokens: [operator], log, authorize: userOfCookie },
    agents: [
      { type: 'loop', name: 'guide', agent, ...(hasAppAgent && { appAgent: 'guide-apps' }) },
      toolAgent({
        ...{ name: 'guide-apps', tools, log },
        approve: ({ name }) => (name === 'w_order' ? 'ask' : 'allow'),
      }),
    ],
  });
  onTestFinished(() => server.close());
  const send = async (method: string, path: string, body?: object, key?: string, as = token) => {
    const response = await server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: {
          ...(as.startsWith('user=') ? { cookie: as } : { authorization: `Bearer ${as}` }),
          ...{
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'a2a-version': '1.0',
          },
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
    return { status: response.status, body: (await response.json().catch(() => undefined)) as any };
  };
  const content = { type: 'text', author: 'user', content: 'show' };
  const method = 'message/send';
  const rpc = { jsonrpc: '2.0', id: 1, method, params: { content } };
  const sent = await send('POST', '/agents/name/guide/rpc', rpc);
  const task = String(sent.body.result[0].task_id);
  const call = (name: string, given: object = {}, of = 'call_show', key?: string) =>
    send('POST', `/tasks/${task}/app-calls`, { tool_call_id: of, name, arguments: given }, key);
  const resultsOf = async (id: string) =>
    transcript(await snapshot(log, sessionId(id))).flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === 'tool_result' ? [part] : [])),
    );
  return { send, call, ran, task, log, operator, resultsOf };
}

test('24.4: the calls of an app run in one task, and a repeated request runs once', async () => {
  const { call, ran, resultsOf } = await shownApp();
  const first = await call('refresh', { city: 'Bern' }, 'call_show', 'k1');
  expect(first.status).toBe(202);
  const { task_id: id, tool_call_id: made } = first.body;
  await expect.poll(async () => (await resultsOf(id)).length).toBe(1);
  expect(await resultsOf(id)).toMatchObject([{ toolCallId: made, text: 'ran w_refresh' }]);
  expect((await call('refresh', { city: 'Bern' }, 'call_show', 'k1')).body).toEqual(first.body);
  const second = await call('refresh');
  expect(second.body.task_id).toBe(id);
  await expect.poll(async () => (await resultsOf(id)).length).toBe(2);
  expect(ran.filter((name) => name === 'w_refresh')).toHaveLength(2);
});

test('18.472: attack: a client calls a tool that the app of a result does not have', async () => {
  const { call, ran, send, task } = await shownApp();
  for (const name of ['w_refresh', 'w_delete', 'delete', '__proto__', 'toString', 'plain'])
    expect((await call(name)).body).toMatchObject({ error: { code: 'invalid' } });
  // A result without an app, and a result that does not exist.
  for (const of of ['call_plain', 'call_none'])
    expect((await call('refresh', {}, of)).status).toBe(404);
  expect(ran).toEqual(['plain']);
  // A token for the task cannot use the other agent.
  const { token } = (await send('POST', '/tokens', { task_id: task })).body;
  const body = { tool_call_id: 'call_show', name: 'refresh', arguments: {} };
  const refused = await send('POST', `/tasks/${task}/app-calls`, body, 'k', token);
  expect(refused.body).toMatchObject({ error: { code: 'forbidden' } });
  expect(ran).toEqual(['plain']);
});

test('18.1606: attack: a user calls a tool of the agent for apps directly', async () => {
  const { call, ran, send, log, operator, resultsOf } = await shownApp({ as: asUser('eve') });
  const content = { type: 'text', author: 'user', content: '{"name":"w_delete","arguments":{}}' };
  const path = '/agents/name/guide-apps';
  const message = { role: 'user', parts: [{ type: 'text', text: content.content }] };
  const { body: called } = await call('order');
  const child = `/tasks/${called.task_id}`;
  const asked = async () => (await snapshot(log, sessionId(called.task_id))).asked;
  await expect.poll(async () => (await asked()).length).toBe(1);
  const before = ran.length;
  const { offset } = (await send('GET', `${child}/records`)).body.records.at(-1);
  const item_id = (await snapshot(log, sessionId(called.task_id))).items.chunk[0]?.id;
  for (const [door, body] of [
    [`${path}/rpc`, { method: 'event/send', params: { task_id: called.task_id, content } }],
    [`${child}/commands`, { type: 'retry' }],
    [`${path}/rpc`, { method: 'message/send', params: { content } }],
    [`${path}/rpc`, { method: 'message/send', params: { task_id: called.task_id, content } }],
    [`${path}/rpc`, { method: 'task/create', params: {} }],
    [`${path}/chat`, { id: 'c1', messages: [message] }],
    [
      `${path}/ag-ui`,
      {
        threadId: 't1',
        runId: 'r1',
        messages: [{ id: 'm', role: 'user', content: content.content }],
      },
    ],
    ['/v1/responses', { model: 'guide-apps', input: content.content }],
    [`${child}/commands`, { type: 'message', content }],
    [`${child}/commands`, { type: 'steer', content }],
    [`${child}/fork`, { item_id, content }],
    [`${child}/branch`, { at: offset, content }],
    ['/messages', { task_id: called.task_id, content }],
    ['/messages/batch', { task_id: called.task_id, contents: [content] }],
    ['/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'w_delete' } }],
    [
      `${path}/a2a/message:send`,
      { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: content.content }] } },
    ],
  ] as const) {
    const { body: answer } = await send('POST', door, body);
    const refused = expect.stringContaining('an agent that runs the calls of MCP apps');
    expect([door, JSON.stringify(answer)]).toEqual([door, refused]);
  }
  expect(ran.slice(before)).toEqual([]);
  // The user answers the question of a call that the app was allowed to make.
  const decided = { type: 'approve', tool_call_id: called.tool_call_id };
  expect((await send('POST', `${child}/commands`, decided)).status).toBeLessThan(300);
  await expect.poll(async () => (await resultsOf(called.task_id)).length).toBe(1);
  expect(ran.slice(before)).toEqual(['w_order']);
  const more = { conversation: called.task_id, input: content.content };
  const answer = await send('POST', '/v1/responses', more);
  expect(JSON.stringify(answer.body)).toContain('calls of MCP apps');
  // The operator can send any message.
  const rpc = { method: 'message/send', params: { content } };
  expect((await send('POST', `${path}/rpc`, rpc, undefined, operator)).status).toBe(200);
  expect(ran.slice(before)).toEqual(['w_order', 'w_delete']);
});

test('18.1734: attack: a user continues an idle task of the agent for apps', async () => {
  const { call, ran, send, log } = await shownApp({ as: asUser('eve') });
  const { body: called } = await call('refresh');
  const task_id = called.task_id;
  const isIdle = async () => (await log.info(task_id))?.hasWork === false && ran.length > 1;
  await expect.poll(isIdle).toBe(true);
  const before = [...ran];
  const { name: id } = (await send('GET', `/tasks/${task_id}`)).body;
  const sent = transcript(await snapshot(log, sessionId(task_id)));
  const [first] = sent.find(({ kind }) => kind === 'user')?.parts ?? [];
  const words = first?.kind === 'text' ? first.text : expect.fail('The task has no message');
  const text = '{"name":"w_delete","arguments":{}}';
  const chat = (said: string) => [
    { id: 'm1', role: 'user', parts: [{ type: 'text', text: said }] },
  ];
  const content = { type: 'text', author: 'user', content: text };
  const path = '/agents/name/guide-apps';
  for (const [door, body] of [
    [`${path}/rpc`, { method: 'event/send', params: { task_id, content } }],
    [`${path}/rpc`, { method: 'event/send', params: { task_name: id, content } }],
    [`${path}/chat`, { id, messages: chat(text) }],
    [`${path}/chat`, { id, trigger: 'regenerate-message', messages: chat(words) }],
    [`/tasks/${task_id}/commands`, { type: 'retry' }],
  ] as const) {
    const { body: answer } = await send('POST', door, body);
    const refused = expect.stringContaining('an agent that runs the calls of MCP apps');
    expect([door, JSON.stringify(answer)]).toEqual([door, refused]);
  }
  expect(await isIdle()).toBe(true);
  expect(ran).toEqual(before);
});

test('18.472: attack: an app calls a tool that needs an approval', async () => {
  const { call, ran, log } = await shownApp();
  const { body } = await call('order');
  const asked = async () => (await snapshot(log, sessionId(body.task_id))).asked;
  await expect.poll(async () => (await asked()).map(({ name }) => name)).toEqual(['w_order']);
  expect(ran).not.toContain('w_order');
});

test('24.4: an agent without an agent for apps refuses their calls with the reason', async () => {
  const { call } = await shownApp({ hasAppAgent: false });
  const { status, body } = await call('refresh');
  expect(status).toBe(422);
  expect(JSON.stringify(body)).toContain('appAgent');
});
