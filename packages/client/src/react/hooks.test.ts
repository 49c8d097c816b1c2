import type { ItemId, Part, PartId } from '@millrace/core';
import { TestClock } from '@millrace/log/suite';
import { createElement, memo, type ReactNode, StrictMode } from 'react';
import { expect, onTestFinished, test } from 'vitest';
import { recordedRun } from '../../../server/src/testing/recorded-run.ts';
import type { TaskHandle, TaskSnapshot } from '../contract/task-handle.ts';
import { createClient } from '../create-client.ts';
import { frame, numbered } from '../testing/batches.ts';
import { FakeServer } from '../testing/fake-server.ts';
import { openPage } from '../testing/page.ts';
import { settled } from '../testing/settled.ts';
import {
  useItem,
  useItemIds,
  usePart,
  usePartIds,
  useSelection,
  useSession,
  useTask,
} from './index.ts';

const batches = numbered(recordedRun(2));

function connected() {
  const server = new FakeServer();
  const clock = new TestClock();
  const client = createClient({ url: 'http://server.test', fetch: server.fetch, clock });
  onTestFinished(() => client.close());
  return { server, clock, client };
}

/** The names of the rendered components, in order. */
const renders: string[] = [];
const take = () => renders.splice(0);
const textOf = (part: Part | undefined) => (part !== undefined && 'text' in part ? part.text : '');

interface Of<Id> {
  readonly task: TaskHandle;
  readonly id: Id;
}

const PartView = memo(function PartView({ task, id }: Of<PartId>) {
  renders.push(`part ${id}`);
  return createElement('p', null, textOf(usePart(task, id)));
});

const ItemView = memo(function ItemView({ task, id }: Of<ItemId>) {
  renders.push(`item ${id}`);
  const parts = usePartIds(task, id);
  return createElement(
    'section',
    null,
    parts.map((part) => createElement(PartView, { key: part, task, id: part })),
  );
});

function TaskView({ client }: { readonly client: ReturnType<typeof createClient> }): ReactNode {
  renders.push('task');
  const task = useTask(client, 't');
  const ids = useItemIds(task);
  return ids.map((id) => createElement(ItemView, { key: id, task, id }));
}

test('a piece renders the part that it belongs to and nothing else; what is finished never renders again', async () => {
  const { server, client } = connected();
  const page = await openPage();
  take();
  await page.render(createElement(TaskView, { client }));
  const stream = await server.next();
  await page.act(() => stream.open());
  expect(take()).toEqual(['task']);
  const task = client.task('t');
  const done = new Set<string>();
  for (const batch of batches) {
    await page.act(async () => {
      stream.push(frame(batch));
      await settled();
    });
    const rendered = take();
    expect(rendered.filter((name) => done.has(name))).toEqual([]);
    const deltas = batch.records.map(({ delta }) => delta);
    const isAppends = deltas.every((delta) => delta?.type === 'append_text');
    const grown = new Set(
      deltas.map((delta) => `part ${delta && 'partId' in delta ? delta.partId : ''}`),
    );
    if (isAppends) expect(rendered.toSorted()).toEqual([...grown].toSorted());
    for (const { id, isOpen, partIds } of task.snapshot().items) {
      if (isOpen) continue;
      for (const name of [`item ${id}`, ...partIds.map((part) => `part ${part}`)]) done.add(name);
    }
  }
  expect(done.size).toBeGreaterThan(10);
  const texts = task.transcript.flatMap(({ parts }) => parts.map(textOf));
  expect(page.text()).toBe(texts.join(''));
});

test('an item that is selected renders while it streams, and no other does', async () => {
  const { server, client } = connected();
  const page = await openPage();
  const task = client.task('t');
  const counts = new Map<ItemId, number>();
  const View = memo(function View({ id }: { readonly id: ItemId }) {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    const parts = useItem(task, id)?.parts.map(textOf);
    return createElement('p', null, parts);
  });
  function All() {
    return useItemIds(task).map((id) => createElement(View, { key: id, id }));
  }
  await page.render(createElement(All));
  const stream = await server.next();
  stream.open();
  for (const batch of batches) {
    const before = task.snapshot().items;
    const counted = new Map(counts);
    await page.act(async () => {
      stream.push(frame(batch));
      await settled();
    });
    for (const item of before) {
      const isSame = task.item(item.id) === item;
      expect((counts.get(item.id) ?? 0) - (counted.get(item.id) ?? 0)).toBe(isSame ? 0 : 1);
    }
  }
  expect(page.text()).toBe(task.transcript.flatMap(({ parts }) => parts.map(textOf)).join(''));
});

test('a session renders with what changes, its connection included', async () => {
  const { server, clock, client } = connected();
  const page = await openPage();
  function View() {
    const { connection, items, isRunning, task } = useSession(useTask(client, 't'));
    return `${connection.state} ${items.length} ${isRunning} ${task?.name}`;
  }
  await page.render(createElement(View));
  expect(page.text()).toBe('connecting 0 false undefined');
  const stream = await server.next();
  const [first = expect.fail(), second = expect.fail()] = batches;
  const row = { type: 'task_updated', task: { id: 't', name: 'wheel' } };
  await page.act(async () => {
    stream.open(`event: task_updated\ndata: ${JSON.stringify(row)}\n\n`);
    stream.push(frame(first) + frame(second));
    await settled();
  });
  expect(page.text()).toBe('live 1 true wheel');
  await page.act(async () => {
    stream.break();
    await settled();
  });
  expect(page.text()).toBe('retrying 1 true wheel');
  await page.act(() => clock.advance(1000));
  expect(page.text()).toBe('connecting 1 true wheel');
});

test('a selection renders when it is another one', async () => {
  const { server, client } = connected();
  const page = await openPage();
  const task = client.task('t');
  let count = 0;
  const kinds = ({ items }: TaskSnapshot) => items.map(({ kind }) => kind);
  const isSame = (a: readonly string[], b: readonly string[]) => a.join() === b.join();
  function View() {
    count++;
    return useSelection(task, kinds, isSame).join(' ');
  }
  await page.render(createElement(View));
  const stream = await server.next();
  stream.open();
  for (const batch of batches) {
    await page.act(async () => {
      stream.push(frame(batch));
      await settled();
    });
  }
  expect(page.text()).toBe(task.transcript.map(({ kind }) => kind).join(' '));
  expect(count).toBe(1 + task.transcript.length);
});

test('what is mounted twice in strict mode has one connection, which goes with the page', async () => {
  const { server, clock, client } = connected();
  const page = await openPage();
  await page.render(createElement(StrictMode, null, createElement(TaskView, { client })));
  const stream = await server.next();
  stream.open();
  await page.act(settled);
  await page.render(createElement('p', null, 'elsewhere'));
  expect(stream.isLeft).toBe(false);
  await clock.advance(5000);
  expect([stream.isLeft, server.requests.length]).toEqual([true, 1]);
});
