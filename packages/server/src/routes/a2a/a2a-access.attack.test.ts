import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
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

test.each([
  ['a proxy that sends no scheme', {}, 'https'],
  ['a proxy with TLS', { 'x-forwarded-proto': 'https' }, 'https'],
  ['two proxies', { 'x-forwarded-proto': 'https, http' }, 'https'],
  ['a proxy without TLS', { 'x-forwarded-proto': 'http' }, 'http'],
])(
  '18.382: attack: cards behind %s let clients send their token without TLS',
  async (_, headers, scheme) => {
    const { url } = await serveOpenAi([], {
      server: { trustedProxies: ['loopback'], hosts: ['agents.example.com'], basePath: '/agents' },
    });
    const reply = await rawRequest(`${url}/agents/name/helper/a2a/.well-known/agent-card.json`, {
      ...{ host: 'agents.example.com', 'x-forwarded-host': 'agents.example.com' },
      'x-forwarded-for': '127.0.0.1',
      ...headers,
    });
    const { supportedInterfaces } = JSON.parse(reply.text);
    for (const one of supportedInterfaces)
      expect(one.url).toBe(`${scheme}://agents.example.com/agents/agents/name/helper/a2a`);
    expect(reply.headers.vary).toContain('x-forwarded-proto');
  },
);

test('18.382: the card of a local server names http', async () => {
  const { url } = await serveOpenAi([], { server: { trustedProxies: ['loopback'] } });
  const reply = await rawRequest(`${url}/agents/name/helper/a2a/.well-known/agent-card.json`, {});
  expect(JSON.parse(reply.text).supportedInterfaces[0].url).toMatch(
    `${url}/agents/name/helper/a2a`,
  );
});

/** Sends a GET request with any headers. `fetch` cannot set the host. */
async function rawRequest(url: string, headers: Record<string, string>) {
  const sent = request(url, { headers, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of response) text += String(piece);
  return { headers: response.headers, text };
}

test('18.1539: attack: clients without a token make the server compress large cards', async () => {
  const description = 'Answers questions about orders. '.repeat(1000);
  const encodingOf = async (publicCards: boolean) => {
    const { url } = await serveOpenAi([], {
      server: { tokens: [operator], a2a: { publicCards, version: description } },
    });
    const path = '/agents/name/helper/a2a/.well-known/agent-card.json';
    const headers = { 'accept-encoding': 'gzip', ...(publicCards ? {} : bearer(operator)) };
    const reply = await fetch(url + path, { headers });
    expect(await reply.json()).toMatchObject({ version: description });
    // A cache must not send a compressed card to a client that does not accept it.
    expect(reply.headers.get('vary')).toContain('accept-encoding');
    return reply.headers.get('content-encoding');
  };
  expect(await encodingOf(true)).toBe(null);
  expect(await encodingOf(false)).toBe('gzip');
});
