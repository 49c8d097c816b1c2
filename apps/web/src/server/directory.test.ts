import { ClientError } from '@millrace/client';
import type { JsonValue } from '@millrace/core';
import { expect, onTestFinished, test } from 'vitest';
import { settled } from '../../../../packages/client/src/testing/settled.ts';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import type { Api } from './api.ts';
import { Directory } from './directory.ts';

/**
 * Creates a fake server with this many tasks. It answers when the test calls `answerAll`. A page has at most
 * `pageLength` tasks.
 */
async function setUp(
  count: number,
  places: Readonly<Record<string, JsonValue>> = {},
  pageLength = 1000,
) {
  await openDomPage('http://localhost/');
  const requests: string[] = [];
  const waiting: (() => void)[] = [];
  const answer = (path: string): JsonValue => {
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    if (pathname === '/agents') return [];
    const all = Array.from({ length: count }, (_, at) => ({ id: `t${at}` }));
    if (pathname === '/tasks/unknown')
      throw new ClientError('bad_request', 'No', {}, { status: 404 });
    if (pathname === '/tasks/broken')
      throw new ClientError('bad_request', 'No', {}, { status: 503 });
    if (pathname !== '/tasks') return { id: pathname.slice('/tasks/'.length), agents: [] };
    const place = searchParams.get('place') ?? '';
    if (place in places) return places[place] ?? [];
    const from = Number(searchParams.get('cursor') ?? 0);
    const limit = Math.min(pageLength, Number(searchParams.get('limit')));
    return place === 'kept' ? [] : all.slice(from, from + limit);
  };
  const get = (path: string) => {
    if (!path.startsWith('/agents')) requests.push(path);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    return promise.then(() => answer(path));
  };
  const page = async (path: string) => {
    const data = (await get(path)) as readonly { readonly id: string }[];
    const end = Number(data.at(-1)?.id.slice(1) ?? count) + 1;
    return { data, next: end < count ? `${end}` : undefined };
  };
  const directory = new Directory({ get, page } as unknown as Api);
  onTestFinished(directory.subscribe(() => {}));
  const answerAll = async () => {
    for (const one of waiting.splice(0)) one();
    await settled();
  };
  return { directory, requests, answerAll };
}

test('calls during a request cause exactly one more request', async () => {
  const { directory, requests, answerAll } = await setUp(3);
  const all = [directory.refresh(), directory.refresh(), directory.refresh()];
  // Each round reads the recent sessions, and the pinned and filed ones.
  expect(requests).toHaveLength(2);
  await answerAll();
  expect(requests).toHaveLength(4);
  await answerAll();
  await Promise.all(all);
  expect(requests).toHaveLength(4);
  expect(directory.state().tasks).toHaveLength(3);
});

test('older tasks are read in steps, up to the limit of the server', async () => {
  const { directory, answerAll } = await setUp(1500);
  await answerAll();
  expect(directory.state()).toMatchObject({ isLoaded: true, hasMore: true });
  expect(directory.state().tasks).toHaveLength(200);
  void directory.loadMore();
  await answerAll();
  expect(directory.state().tasks).toHaveLength(400);
  for (let more = 0; more < 4; more++) {
    void directory.loadMore();
    await answerAll();
  }
  expect(directory.state().tasks).toHaveLength(1000);
  expect(directory.state().hasMore).toBe(false);
});

test('18.493: pages that end early, because their tasks are large, are read one after another', async () => {
  const { directory, requests, answerAll } = await setUp(500, {}, 60);
  const ids = () => directory.state().tasks.map(({ id }) => id);
  for (let round = 0; round < 4; round++) await answerAll();
  expect(ids()).toEqual(Array.from({ length: 200 }, (_, at) => `t${at}`));
  expect(directory.state()).toMatchObject({ hasMore: true, error: undefined });
  expect(requests.filter((path) => path.includes('place=recent'))).toHaveLength(4);
  void directory.loadMore();
  for (let round = 0; round < 8; round++) await answerAll();
  expect(ids()).toHaveLength(400);
});

test('18.493: attack: very large tasks shorten the list, and the next step reads more of them', async () => {
  const { directory, answerAll } = await setUp(500, {}, 3);
  for (let round = 0; round < 4; round++) await answerAll();
  expect(directory.state().tasks).toHaveLength(12);
  expect(directory.state().hasMore).toBe(true);
  void directory.loadMore();
  for (let round = 0; round < 8; round++) await answerAll();
  expect(directory.state().tasks).toHaveLength(24);
});

test('pinned sessions and those in folders are in the list, each once and in order', async () => {
  const at = (id: string, day: number) => ({ id, updated_at: `2026-11-${day}T08:00:00.000Z` });
  const recent = [at('new', 17), at('moved', 15), at('old', 12)];
  const { directory, requests, answerAll } = await setUp(0, {
    recent,
    kept: [at('moved', 15), at('pinned', 13)],
  });
  await answerAll();
  expect(requests.map((path) => /place=(\w+)/.exec(path)?.[1])).toEqual(['recent', 'kept']);
  const ids = directory.state().tasks.map(({ id }) => id);
  expect(ids).toEqual(['new', 'moved', 'pinned', 'old']);
});

test('a task that is not in the list is fetched by its id', async () => {
  const { directory, requests, answerAll } = await setUp(3);
  await answerAll();
  void directory.fetchTask('old one');
  await answerAll();
  expect(requests.at(-1)).toBe('/tasks/old%20one?relationships=agents');
  expect(directory.state().others.get('old one')?.agents).toEqual([]);
});

test.each([
  ['unknown', 1],
  ['broken', 2],
])('%s is requested %d times, although it is fetched twice', async (id, times) => {
  const { directory, requests, answerAll } = await setUp(3);
  await answerAll();
  for (let round = 0; round < 2; round++) {
    void directory.fetchTask(id);
    await answerAll();
  }
  expect(requests.filter((path) => path.startsWith(`/tasks/${id}`))).toHaveLength(times);
  expect(directory.state().others.size).toBe(0);
});
