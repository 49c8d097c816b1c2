import { defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { postMcp, serveMcp } from '../../testing/mcp/mcp-client.ts';
import { asUser, userOfCookie } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';

const operator = testToken('operator');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const [ada, bob] = [{ cookie: asUser('ada') }, { cookie: asUser('bob') }];
const accept = { accept: 'application/json' };

async function serveGuarded(script: readonly string[]) {
  const { url } = await serveMcp(script, {
    server: { tokens: [operator], authorize: userOfCookie },
  });
  const issue = async (body: object): Promise<string> => {
    const reply = await fetch(`${url}/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(operator) },
      body: JSON.stringify(body),
    });
    return ((await reply.json()) as { readonly token: string }).token;
  };
  const call = async (headers: Record<string, string>, method: string, params: object) =>
    postMcp(url, { jsonrpc: '2.0', id: 1, method, params }, { ...accept, ...headers });
  const say = async (headers: Record<string, string>, args: object) =>
    (await call(headers, 'tools/call', { name: 'helper', arguments: args })).json;
  return { url, issue, call, say };
}

test('24.4: callers without a token, with a wrong one and with one for reading cannot call', async () => {
  const { call, issue } = await serveGuarded(['Secret.']);
  const reader = await issue({ read_only: true });
  const statuses = [];
  for (const headers of [{}, bearer('wrong'), bearer(reader)])
    statuses.push((await call(headers, 'tools/list', {})).status);
  expect(statuses).toEqual([401, 401, 403]);
});

test('24.4: a token for one task and a user reach only their own sessions', async () => {
  const { call, issue, say } = await serveGuarded(['Mine.', 'Secret.', 'Mine again.', 'Of Ada.']);
  const own = (await say(bearer(operator), { message: 'Hi' })).result.structuredContent.session_id;
  const other = (await say(bearer(operator), { message: 'Hi' })).result.structuredContent;
  const token = bearer(await issue({ task_id: own }));
  const uri = `millrace://sessions/${other.session_id}`;
  for (const headers of [token, ada]) {
    const told = await say(headers, { session_id: other.session_id });
    expect([told.result.isError, JSON.stringify(told)]).toEqual([
      ...[true, expect.not.stringContaining('Secret')],
    ]);
    const sent = await say(headers, { message: 'Hi', session_id: other.session_id });
    expect(sent.result.isError).toBe(true);
    const read = await call(headers, 'resources/read', { uri });
    expect(read.json.error.code).toBe(-32_002);
  }
  expect((await say(token, { message: 'Hi' })).result.isError).toBe(true);
  const listed = await call(token, 'resources/list', {});
  expect(listed.json.result.resources).toHaveLength(1);
  const mine = await say(token, { message: 'More', session_id: own });
  expect(mine.result.structuredContent.answer).toBe('Mine again.');
  expect((await call(ada, 'resources/list', {})).json.result.resources).toEqual([]);
  const told = await say(ada, { message: 'Hi' });
  expect(told.result.structuredContent.answer).toBe('Of Ada.');
  expect((await call(bob, 'resources/list', {})).json.result.resources).toEqual([]);
});

test('24.4: forged ids of streams, questions and tasks of others are refused', async () => {
  const { url, call, issue, say } = await serveGuarded(['Mine.', 'Secret.']);
  const own = (await say(bearer(operator), { message: 'Hi' })).result.structuredContent.session_id;
  const other = (await say(bearer(operator), { message: 'Hi' })).result.structuredContent;
  const token = bearer(await issue({ task_id: own }));
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const answer = await call(token, 'tools/call', {
    ...{ name: 'helper', arguments: { message: 'Hi' }, inputResponses: {} },
    requestState: `run_${other.session_id}_1.1.${'x'.repeat(43)}`,
  });
  expect(answer.json.error.code).toBe(-32_602);
  const place = { run: [other.session_id, 1], tool: 'helper', id: 1, number: 0 };
  for (const id of [encode(place), encode([]), 'x', encode({ ...place, run: ['../x', -1] })]) {
    const stream = await fetch(`${url}/mcp`, { headers: { ...token, 'last-event-id': id } });
    expect([404, 405]).toContain(stream.status);
    expect(await stream.text()).not.toContain('Secret');
  }
});

test('attack 18.325: a client that only waits for the run of another client stops it', async () => {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<string>();
  const work = defineTool({
    ...{ name: 'work', description: 'Works', input: z.object({}) },
    execute: () => {
      started.resolve();
      return finish.promise;
    },
  });
  const lines: string[] = [];
  const { url, log } = await serveMcp([toolCall('work', {}), 'Done.'], {
    agent: { tools: [work] },
    server: { requestLog: { format: 'text', write: (line) => lines.push(line) } },
  });
  const rpc = async (method: string, params: object) => {
    const body = JSON.stringify({ method, params });
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${url}/agents/name/helper/rpc`, { method: 'POST', headers, body });
    return ((await reply.json()) as { readonly result: { readonly id: string } }).result;
  };
  const { id } = await rpc('task/create', {});
  const content = { type: 'text', author: 'user', content: 'Work' };
  await rpc('event/send', { task_id: id, content });
  await started.promise;
  const version = '2026-07-28';
  const leave = new AbortController();
  const waiting = await fetch(`${url}/mcp`, {
    ...{ method: 'POST', signal: leave.signal },
    headers: {
      ...{ 'content-type': 'application/json', accept: 'text/event-stream' },
      ...{ 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': 'helper' },
    },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: {
        ...{ name: 'helper', arguments: { session_id: id } },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  expect(waiting.status).toBe(200);
  leave.abort();
  // The server has handled the disconnect when it has logged the request.
  await expect.poll(() => lines.join('\n')).toContain('POST /mcp');
  finish.resolve('It works.');
  const again = { jsonrpc: '2.0', id: 2, method: 'tools/call' };
  const params = { name: 'helper', arguments: { session_id: id } };
  const { json } = await postMcp(url, { ...again, params }, accept);
  expect(json.result.structuredContent).toMatchObject({ answer: 'Done.', status: 'completed' });
  expect(JSON.stringify((await log.read(sessionId(id))).records)).not.toContain('abort');
});
