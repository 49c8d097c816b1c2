import { expect, test } from 'vitest';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer } from '../create-server.ts';
import { createToken } from '../http/access/token-store.ts';
import { taskSearch } from './task-store.ts';

const task = (id: string, name: string | null, title?: unknown) => ({
  ...{ id, name },
  task_metadata: title === undefined ? null : { title: title as string },
});

test.each([
  ['the middle of a title', task('1', null, 'The Paris Flight'), 's fl', true],
  ['another case', task('1', null, 'STRASSE ÉTÉ'), 'été', true],
  ['a name, where there is a title too', task('1', 'daily', 'Grain'), 'DAI', true],
  ['an id', task('abc1', null), 'BC1', true],
  ['nothing', task('1', null), '', true],
  ['what is nowhere', task('1', 'daily', 'Grain'), 'rye', false],
  ['signs that a database would read', task('1', null, 'Grain'), 'G%n', false],
  ['two of them at once', task('1', 'daily', 'Grain'), 'Grain daily', false],
  ['a title that is none', task('1', null, 12), '12', false],
])('finds a task by %s', (_what, one, text, isThere) => {
  expect(taskSearch(text)(one)).toBe(isThere);
});

async function served() {
  const echo = (name: string): ServedAgent => ({
    ...{ type: 'sync', name },
    onMessage: async (content) => content,
  });
  const operator = createToken();
  const server = createServer({ agents: [echo('a'), echo('b')], tokens: [operator] });
  const { url } = await server.listen({ port: 0 });
  const ask = async (path: string, { token = operator, ...init }: RequestInit & ListQuery = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return fetch(`${url}${path}`, { ...init, headers });
  };
  const post = async (path: string, body: object, method = 'POST') =>
    (await ask(path, { method, body: JSON.stringify(body) })).json() as Promise<Created>;
  const create = async (agent: string, title: string): Promise<string> => {
    const { result } = await post(`/agents/name/${agent}/rpc`, { method: 'task/create' });
    await post(`/tasks/${result.id}`, { task_metadata: { title } }, 'PUT');
    return result.id;
  };
  const list = async (query: string, token?: string) => {
    const answer = await ask(`/tasks?${query}`, { ...(token !== undefined && { token }) });
    const listed = (await answer.json()) as readonly { readonly id: string }[];
    const next = answer.headers.get('x-next-cursor');
    return { status: answer.status, next, ids: answer.ok ? listed.map(({ id }) => id) : [] };
  };
  return { create, list, post, [Symbol.asyncDispose]: () => server.close() };
}

interface ListQuery {
  readonly token?: string;
}

interface Created {
  readonly result: { readonly id: string };
  readonly token: string;
}

test('a server lists matching tasks page by page, combined with other filters', async () => {
  await using it = await served();
  const flights = [await it.create('a', 'Flight one'), await it.create('a', 'Preflight')];
  await it.create('a', 'Grain');
  const other = await it.create('b', 'FLIGHT of another');
  const all = await it.list('search=flight&order_by=created_at&order_direction=asc');
  expect(all).toMatchObject({ ids: [...flights, other], next: null });
  const first = await it.list('search=flight&limit=2&order_by=created_at&order_direction=asc');
  expect(first.ids).toEqual(flights);
  const then = `cursor=${first.next}&order_by=created_at&order_direction=asc`;
  expect(await it.list(`search=flight&limit=2&${then}`)).toMatchObject({
    ids: [other],
    next: null,
  });
  expect((await it.list('search=flight&agent_name=b')).ids).toEqual([other]);
  expect((await it.list(`search=${other.toUpperCase()}`)).ids).toEqual([other]);
  expect((await it.list('search=flight&status=FAILED')).ids).toEqual([]);
  expect((await it.list(`search=${'x'.repeat(257)}`)).status).toBe(422);
});

test('a restricted token finds only its own tasks', async () => {
  await using it = await served();
  const flight = await it.create('a', 'Flight');
  await it.create('a', 'Grain');
  const ofTask = (await it.post('/tokens', { task_id: flight })).token;
  expect((await it.list('search=flight', ofTask)).ids).toEqual([flight]);
  expect((await it.list('search=grain', ofTask)).ids).toEqual([]);
});
