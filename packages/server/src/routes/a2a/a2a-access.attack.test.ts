import { expect, test } from 'vitest';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { asUser, userOfCookie } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';
import { allRoutes } from '../all-routes.ts';

const operator = testToken('operator');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const [ada, bob] = [{ cookie: asUser('ada') }, { cookie: asUser('bob') }];

async function serveGuarded(script: readonly string[]) {
  const { url } = await serveOpenAi(script, {
    server: { tokens: [operator], authorize: userOfCookie },
  });
  const post = async (path: string, headers: Record<string, string>, body: object) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      body: JSON.stringify(body),
    });
  const issue = async (body: object): Promise<string> =>
    ((await (await post('/tokens', bearer(operator), body)).json()) as { token: string }).token;
  const call = async (headers: Record<string, string>, method: string, params: object) => {
    const reply = await post('/agents/name/helper/a2a', headers, {
      ...{ jsonrpc: '2.0', id: 1, method, params },
    });
    // biome-ignore lint/suspicious/noExplicitAny: the test reads many shapes
    return { status: reply.status, text: await reply.text() } as any;
  };
  const say = (headers: Record<string, string>, to: object) =>
    call(headers, 'SendMessage', {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }], ...to },
    });
  return { url, issue, call, say };
}

test('24.5: callers without a token, with a wrong one and with one for reading cannot call', async () => {
  const { say, issue, url } = await serveGuarded(['Secret.']);
  const reader = bearer(await issue({ read_only: true }));
  const replies = [];
  for (const headers of [{}, bearer('wrong'), reader]) replies.push(await say(headers, {}));
  expect(replies.map(({ status }) => status)).toEqual([401, 401, 403]);
  expect(JSON.parse(replies[0].text)).toMatchObject({ jsonrpc: '2.0', error: { code: -32_603 } });
  const listed = await fetch(`${url}/agents/name/helper/a2a/tasks`, {
    headers: { 'a2a-version': '1.0', ...reader },
  });
  expect(listed.status).toBe(200);
  const without = await fetch(`${url}/agents/name/helper/a2a/tasks`);
  expect([without.status, await without.json()]).toMatchObject([
    ...[401, { error: { code: 401, status: 'UNAUTHENTICATED' } }],
  ]);
});

test('24.5: every route of A2A needs a token', async () => {
  const { url } = await serveGuarded([]);
  const routes = allRoutes.filter(({ path }) => /a2a|agent-card/.test(path));
  expect(routes.length).toBeGreaterThan(8);
  for (const { method, path } of routes) {
    const reply = await fetch(url + path.replaceAll(/\{\w+\}/g, 'helper'), { method });
    expect([path, reply.status]).toEqual([path, 401]);
  }
});

test('24.5: a token for one session and a user reach only their own tasks', async () => {
  const { call, issue, say } = await serveGuarded(['Mine.', 'Secret.', 'Of Ada.', 'Mine again.']);
  const taskOf = ({ text }: { readonly text: string }) => JSON.parse(text).result.task;
  const own = taskOf(await say(bearer(operator), {}));
  const other = taskOf(await say(bearer(operator), { contextId: 'diary' }));
  const adas = taskOf(await say(ada, { contextId: 'ada' }));
  const token = bearer(await issue({ task_id: own.contextId }));
  for (const headers of [token, bob]) {
    for (const { id, contextId } of [other, adas]) {
      for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
        const reply = await call(headers, method, { id });
        expect([method, reply.text]).toEqual([method, expect.stringContaining('-32001')]);
      }
      const sentTo = [{ taskId: id }, { contextId }, { contextId: id.split('_')[1] }];
      for (const to of sentTo.slice(0, 2)) {
        const reply = await say(headers, to);
        expect(reply.text).toMatch(/"error"/);
        expect(reply.text).not.toMatch(/Secret|Of Ada/);
      }
    }
    const { text } = await call(headers, 'ListTasks', { includeArtifacts: true });
    expect(text).not.toMatch(/Secret|Of Ada/);
  }
  expect((await say(token, {})).status).toBe(403);
  const mine = await say(token, { contextId: own.contextId, messageId: 'n' });
  expect(mine.text).toContain('Mine again.');
});

test('24.5: a body that is too large is refused in the format of the binding', async () => {
  const { url } = await serveOpenAi([], { server: { limits: { maxFileBytes: 1000 } } });
  const send = (path: string) =>
    fetch(`${url}/agents/name/helper/a2a${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ text: 'x'.repeat(2000) }),
    });
  const [rpc, http] = [await send(''), await send('/message:send')];
  expect([rpc.status, await rpc.json()]).toMatchObject([413, { jsonrpc: '2.0', error: {} }]);
  expect([http.status, await http.json()]).toMatchObject([413, { error: { code: 413 } }]);
});
