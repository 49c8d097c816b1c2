import { expect, test } from 'vitest';
import type { ListPage } from '../server/api.ts';
import { findTasks } from './task-search.ts';

/** A server with these responses, in order. The last one repeats. */
function answering(...answers: readonly ListPage[]) {
  const asked: URLSearchParams[] = [];
  const page = async (path: string) => {
    asked.push(new URL(path, 'http://localhost').searchParams);
    return answers[Math.min(asked.length, answers.length) - 1] ?? { data: [], next: undefined };
  };
  return { asked, find: () => findTasks({ page }, 'a & b', new AbortController().signal) };
}

const some = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `t${at}` }));

test('the request contains the text and the needed relationships', async () => {
  const { asked, find } = answering({ data: some(2), next: undefined });
  expect(await find()).toHaveLength(2);
  expect(asked.map((query) => Object.fromEntries(query))).toEqual([
    { search: 'a & b', relationships: 'agents,work', limit: '50' },
  ]);
});

test('partial responses are continued until there are enough results', async () => {
  const first = { data: some(2), next: 'one' };
  const { asked, find } = answering(
    first,
    { data: [], next: 'two' },
    { data: some(48), next: 'x' },
  );
  expect(await find()).toHaveLength(50);
  expect(asked.map((query) => [query.get('cursor'), query.get('limit')])).toEqual([
    [null, '50'],
    ['one', '48'],
    ['two', '48'],
  ]);
});

test('the number of requests is limited', async () => {
  const { asked, find } = answering({ data: [], next: 'on' });
  expect(await find()).toEqual([]);
  expect(asked).toHaveLength(20);
});
