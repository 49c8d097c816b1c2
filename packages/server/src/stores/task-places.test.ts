import { afterAll, beforeAll, expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { createToken } from '../http/access/token-store.ts';
import { placeOf } from './task-store.ts';

interface TaskReply {
  readonly id: string;
  readonly updated_at: string;
  readonly task_metadata: Readonly<Record<string, unknown>> | null;
}

const operator = createToken();
const server = createServer({
  agents: [{ type: 'sync', name: 'echo', onMessage: async (content) => content }],
  tokens: [operator],
});
let url = '';

beforeAll(async () => {
  ({ url } = await server.listen({ port: 0 }));
});
afterAll(() => server.close());

async function send(method: string, path: string, body?: object, token = operator) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${url}${path}`, init);
  return { status: response.status, body: await response.json() };
}

async function create(): Promise<string> {
  const { body } = await send('POST', '/agents/name/echo/rpc', { method: 'task/create' });
  return (body as { result: TaskReply }).result.id;
}

async function change(id: string, merge_metadata: object): Promise<TaskReply> {
  return (await send('PUT', `/tasks/${id}`, { merge_metadata })).body as TaskReply;
}

async function idsIn(query: string, token = operator): Promise<readonly string[]> {
  const { body } = await send('GET', `/tasks?${query}`, undefined, token);
  return (body as readonly TaskReply[]).map(({ id }) => id);
}

test.each([
  [null, 'recent'],
  [{}, 'recent'],
  [{ pinned: true }, 'kept'],
  [{ pinned: 'yes' }, 'recent'],
  [{ folder: 'Trips' }, 'kept'],
  [{ folder: '' }, 'recent'],
  [{ folder: 7 }, 'recent'],
  [{ archived: true, pinned: true, folder: 'Trips' }, 'archived'],
] as const)('a task with the metadata %j is in %s', (task_metadata, place) => {
  expect(placeOf({ task_metadata })).toBe(place);
});

test('merge_metadata sets and removes single fields, and keeps the time of the last change', async () => {
  const id = await create();
  const first = await change(id, { title: 'Paris', note: { n: 1 } });
  expect(first.task_metadata).toEqual({ title: 'Paris', note: { n: 1 } });
  const second = await change(id, { title: 'Rome', note: null, absent: null });
  expect(second.task_metadata).toEqual({ title: 'Rome' });
  expect(second.updated_at).toBe(first.updated_at);
});

test('two clients that change different fields at once lose neither change', async () => {
  const id = await create();
  await Promise.all([change(id, { pinned: true }), change(id, { title: 'Both' })]);
  const { body } = await send('GET', `/tasks/${id}`);
  expect(body).toMatchObject({ task_metadata: { pinned: true, title: 'Both' } });
});

test('a list by place contains each task once, and a deleted task never', async () => {
  const [recent, pinned, filed, archived, deleted] = await Promise.all(
    Array.from({ length: 5 }, create),
  );
  await change(pinned ?? '', { pinned: true });
  await change(filed ?? '', { folder: 'Trips' });
  await change(archived ?? '', { archived: true });
  await change(deleted ?? '', { pinned: true });
  await send('DELETE', `/tasks/${deleted}`);
  expect(await idsIn('place=recent')).toContain(recent);
  expect(await idsIn('place=kept')).toEqual(expect.arrayContaining([pinned, filed]));
  expect(await idsIn('place=kept')).not.toContain(deleted);
  expect(await idsIn('place=archived')).toEqual([archived]);
  expect(await idsIn('place=archived&status=RUNNING&agent_name=echo')).toEqual([archived]);
  const all = await idsIn('limit=1000');
  const parts = await Promise.all(
    ['recent', 'kept', 'archived'].map((place) => idsIn(`limit=1000&place=${place}`)),
  );
  expect(parts.flat().toSorted()).toEqual(all.toSorted());
  await change(archived ?? '', { archived: null });
  expect(await idsIn('place=archived')).toEqual([]);
});

test('a token for one task lists it only in its place', async () => {
  const id = await create();
  await change(id, { pinned: true });
  const { body } = await send('POST', '/tokens', { task_id: id, read_only: true });
  const { token } = body as { token: string };
  expect(await idsIn('place=kept', token)).toEqual([id]);
  expect(await idsIn('place=recent', token)).toEqual([]);
});

test('an unknown place is refused', async () => {
  expect((await send('GET', '/tasks?place=attic')).status).toBe(422);
});
