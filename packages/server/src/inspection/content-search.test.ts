import { createAgent } from '@millrace/agent';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import type { ContentSearchResult } from '../contract/inspection.ts';
import { createServer } from '../create-server.ts';
import { asUser, userOfCookie } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

const agentOf = (log: Log, answers: readonly string[]) =>
  createAgent({ log, name: 'desk', provider: scriptedProvider(answers) });

/** Serves two agents. Returns functions that send messages and search as a user or with a token. */
async function served() {
  const log = memoryLog();
  const answers = Array.from({ length: 60 }, (_, at) => `Order ${at} costs 5 $ (five) each.`);
  const agents = ['desk', 'shop'].map(
    (name) => ({ type: 'loop', name, agent: agentOf(log, answers) }) as const,
  );
  const tokens = [testToken('operator')];
  const server = createServer({ log, agents, tokens, authorize: userOfCookie });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const ask = async (who: string, path: string, body?: object) => {
    const credentials = who.startsWith(asUser(''))
      ? { cookie: who }
      : { authorization: `Bearer ${who}` };
    const response = await fetch(new URL(path, url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...credentials, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: JSON.parse(await response.text()) };
  };
  const send = async (who: string, text: string, agent = 'desk'): Promise<string> => {
    const content = { type: 'text', author: 'user', content: text };
    const { json } = await ask(who, `/agents/name/${agent}/rpc`, {
      ...{ method: 'message/send', params: { content } },
    });
    return json.result[0].task_id;
  };
  const search = async (who: string, text: string, cursor?: string) => {
    const query = new URLSearchParams({ text, ...(cursor !== undefined && { cursor }) });
    const { status, json } = await ask(who, `/search?${query}`);
    expect([status, json]).toEqual([200, json]);
    return json as ContentSearchResult;
  };
  return { ask, send, search };
}

const operator = testToken('operator');

test('22.search: a search finds messages of users and answers, with the text around them', async () => {
  const { send, search } = await served();
  const id = await send(operator, 'Where is my *blue*   Umbrella? I lost it\nin the rain.');
  await send(operator, 'Something else');
  expect(await search(operator, 'blue* umbrella')).toEqual({
    ...{ searched: 2, next: null },
    data: [
      {
        task_id: id,
        hits: [
          {
            ...{ item_id: expect.any(String), kind: 'user' },
            ...{ before: 'Where is my *', match: 'blue* Umbrella' },
            after: '? I lost it in the rain.',
          },
        ],
      },
    ],
  });
  const { data } = await search(operator, '$ (FIVE)');
  expect(data.map(({ hits }) => hits[0]?.kind)).toEqual(['assistant', 'assistant']);
  expect((await search(operator, 'nothing like this')).data).toEqual([]);
});

test('22.search: a request reads a limited number of tasks, and the cursor continues', async () => {
  const { ask, send, search } = await served();
  const first = await send(operator, 'the very first one');
  const create = { method: 'task/create', params: {} };
  for (let at = 0; at < 55; at++) await ask(operator, '/agents/name/desk/rpc', create);
  const one = await search(operator, 'very first');
  expect([one.data, one.searched]).toEqual([[], 50]);
  const two = await search(operator, 'very first', one.next ?? '');
  expect(two.data.map(({ task_id }) => task_id)).toEqual([first]);
  expect(two.next).toBeNull();
});

test.each([
  ['no text', ''],
  ['a text that is too short', '?text=%20a%20'],
  ['a text that is too long', `?text=${'x'.repeat(257)}`],
  ['an unknown cursor', '?text=abc&cursor=nonsense'],
])('22.search: a search with %s is refused', async (_, query) => {
  const { ask } = await served();
  expect((await ask(operator, `/search${query}`)).status).toBe(422);
});

test('attack: a search finds nothing outside of the scope', async () => {
  const { ask, send, search } = await served();
  const own = await send(asUser('ada'), 'the secret of ada');
  const other = await send(asUser('bob'), 'the secret of bob', 'shop');
  const tokenFor = async (body: object) => (await ask(operator, '/tokens', body)).json.token;
  const ids = async (who: string) =>
    (await search(who, 'the secret of')).data.map(({ task_id }) => task_id);
  expect(await ids(asUser('ada'))).toEqual([own]);
  expect(await ids(asUser('bob'))).toEqual([other]);
  expect(await ids(await tokenFor({ task_id: own }))).toEqual([own]);
  expect(await ids(await tokenFor({ agent_name: 'shop' }))).toEqual([other]);
  expect(await ids(operator)).toEqual([other, own]);
});

test('attack: a text is no pattern', async () => {
  const { send, search } = await served();
  await send(operator, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!');
  for (const text of ['(a+)+$', '.*', '[a-z]+', 'a|b', '\\w+', 'a{2,}'])
    expect((await search(operator, text)).data).toEqual([]);
});
