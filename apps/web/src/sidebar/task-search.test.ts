import { expect, test } from 'vitest';
import type { ListPage } from '../server/api.ts';
import { findTasks } from './task-search.ts';

/** Creates a fake server with these responses, in order. The last response repeats. */
function fakeServer(...answers: readonly ListPage[]) {
  const requests: URLSearchParams[] = [];
  const page = async (path: string) => {
    requests.push(new URL(path, 'http://localhost').searchParams);
    return answers[Math.min(requests.length, answers.length) - 1] ?? { data: [], next: undefined };
  };
  return { requests, find: () => findTasks({ page }, 'a & b', new AbortController().signal) };
}

const some = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `t${at}` }));

test('the request contains the text and the needed relationships', async () => {
  const { requests, find } = fakeServer({ data: some(2), next: undefined });
  expect(await find()).toHaveLength(2);
  expect(requests.map((query) => Object.fromEntries(query))).toEqual([
    { search: 'a & b', relationships: 'agents,work', limit: '50' },
  ]);
});

test('partial responses are continued until there are enough results', async () => {
  const first = { data: some(2), next: 'one' };
  const { requests, find } = fakeServer(
    first,
    { data: [], next: 'two' },
    { data: some(48), next: 'x' },
  );
  expect(await find()).toHaveLength(50);
  expect(requests.map((query) => [query.get('cursor'), query.get('limit')])).toEqual([
    [null, '50'],
    ['one', '48'],
    ['two', '48'],
  ]);
});

test('the number of requests is limited', async () => {
  const { requests, find } = fakeServer({ data: [], next: 'on' });
  expect(await find()).toEqual([]);
  expect(requests).toHaveLength(20);
});
