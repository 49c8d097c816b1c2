import type { JsonValue } from '@millrace/core';
import { expect, onTestFinished, test } from 'vitest';
import { settled } from '../../../../packages/client/src/testing/settled.ts';
import { openDomPage } from '../testing/dom-page.ts';
import type { Api } from './api.ts';
import { Directory } from './directory.ts';

/** A server with so many tasks, which answers when the test says so. */
async function stage(count: number) {
  await openDomPage('http://localhost/');
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const answer = (path: string): JsonValue => {
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    if (pathname === '/agents') return [];
    const all = Array.from({ length: count }, (_, at) => ({ id: `t${at}` }));
    if (pathname !== '/tasks') return { id: pathname.slice('/tasks/'.length), agents: [] };
    return all.slice(0, Number(searchParams.get('limit')));
  };
  const get = (path: string) => {
    if (!path.startsWith('/agents')) asked.push(path);
    const { promise, resolve } = Promise.withResolvers<JsonValue>();
    waiting.push(() => resolve(answer(path)));
    return promise;
  };
  const directory = new Directory({ get } as unknown as Api);
  onTestFinished(directory.subscribe(() => {}));
  const answerAll = async () => {
    for (const one of waiting.splice(0)) one();
    await settled();
  };
  return { directory, asked, answerAll };
}

test('who asks while it is asked gets one more answer after it, however many they are', async () => {
  const { directory, asked, answerAll } = await stage(3);
  const all = [directory.refresh(), directory.refresh(), directory.refresh()];
  expect(asked).toHaveLength(1);
  await answerAll();
  expect(asked).toHaveLength(2);
  await answerAll();
  await Promise.all(all);
  expect(asked).toHaveLength(2);
  expect(directory.state().tasks).toHaveLength(3);
});

test('the older ones are asked for in steps, and to be searched all at once', async () => {
  const { directory, answerAll } = await stage(1500);
  await answerAll();
  expect(directory.state()).toMatchObject({ isLoaded: true, isMore: true });
  expect(directory.state().tasks).toHaveLength(200);
  void directory.more();
  await answerAll();
  expect(directory.state().tasks).toHaveLength(400);
  void directory.all();
  await answerAll();
  expect(directory.state().tasks).toHaveLength(1000);
  expect(directory.state().isMore).toBe(false);
});

test('a task that is not in the list is found by its id', async () => {
  const { directory, asked, answerAll } = await stage(3);
  await answerAll();
  void directory.look('old one');
  await answerAll();
  expect(asked.at(-1)).toBe('/tasks/old%20one?relationships=agents');
  expect(directory.state().others.get('old one')?.agents).toEqual([]);
});
