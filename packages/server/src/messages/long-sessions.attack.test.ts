import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type DraftRecord,
  type FoldState,
  type ItemState,
  itemId,
  partId,
  sessionId,
} from '@millrace/core';
import { memoryLog, sessionStates, systemClock } from '@millrace/log';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { TaskMessage } from '../contract/message.ts';
import type { MessageFilter } from '../contract/request-bodies.ts';
import type { TaskService } from '../contract/service.ts';
import type { TaskJournal } from '../contract/task-journal.ts';
import { asServerError } from '../http/error-reply.ts';
import { JournalPool } from '../journal/journal-pool.ts';
import { LocalJournal } from '../journal/local-journal.ts';
import { scopedService } from '../routes/scoped/scoped-service.ts';
import { createTaskHarness, ids, textsOf, userText } from '../testing/servers/task-harness.ts';
import { messageService } from './message-service.ts';

// A client that can write to one task fills it with messages. Then it sends requests that compare many values
// with all of them.

const session = 'orders';

/** Creates a message service for one session. It counts how often the fields of an item are read. */
function countingService() {
  const log = memoryLog();
  const pool = new JournalPool({ log, clock: systemClock, ids });
  onTestFinished(async () => {
    await pool.close();
    await log.close();
  });
  let reads = 0;
  const proxies = new WeakMap<ItemState, ItemState>();
  const counted = (item: ItemState): ItemState => {
    const get = (target: ItemState, key: string) => {
      reads++;
      return Reflect.get(target, key) as unknown;
    };
    const proxy = proxies.get(item) ?? new Proxy(item, { get: get as never });
    proxies.set(item, proxy);
    return proxy;
  };
  const countedItems = ({ before, chunk }: FoldState['items']): FoldState['items'] => ({
    before: before && countedItems(before),
    chunk: chunk.map(counted),
  });
  const countingJournal = (journal: TaskJournal): TaskJournal => ({
    ...journal,
    append: (drafts: readonly DraftRecord[]) => journal.append(drafts),
    state: async () => {
      const state = await journal.state();
      return { ...state, items: countedItems(state.items) };
    },
  });
  const messages = messageService(
    (taskId, work) => pool.use(taskId, (journal) => work(countingJournal(journal))),
    ids,
  );
  const take = () => {
    const taken = reads;
    reads = 0;
    return taken;
  };
  return { messages, take };
}

/** Counts how often other work of the process can run during the request. */
async function turnsDuring<T>(request: Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    for (; !isDone; turns++) await nextTurn();
  })();
  const result = await request.finally(() => {
    isDone = true;
  });
  await others;
  return { result, turns };
}

const contents = (count: number) => Array.from({ length: count }, () => userText('x'));

const editsOf = (messages: readonly TaskMessage[], text: string) =>
  Object.fromEntries(messages.map(({ id }) => [id ?? '', userText(text)]));

test('18.490: attack: a batch of messages does not read the session once per message', async () => {
  const { messages, take } = countingService();
  const count = 1000;
  const created = await messages.createMany({ task_id: session, contents: contents(count) });
  take();
  const added = await messages.createMany({ task_id: session, contents: contents(200) });
  expect(added).toHaveLength(200);
  expect(take()).toBeLessThan(count * 50);
  const updates = editsOf(created.slice(0, 200), 'y');
  const { result: edited, turns } = await turnsDuring(
    messages.updateMany({ task_id: session, updates }),
  );
  expect(edited.map(({ id }) => id)).toEqual(Object.keys(updates));
  expect(new Set(textsOf(edited))).toEqual(new Set(['y']));
  expect(take()).toBeLessThan(count * 50);
  expect(turns).toBeGreaterThanOrEqual(4);
});

test('18.490: attack: a token for one task does not get each message of a batch before its edit', async () => {
  const { service, newTask } = await createTaskHarness([quiet]);
  const { id: task_id } = await newTask('listener');
  const created = await service.messages.createMany({ task_id, contents: contents(100) });
  let gets = 0;
  const get = (id: string) => {
    gets++;
    return service.messages.get(id);
  };
  const counted: TaskService = { ...service, messages: { ...service.messages, get } };
  const scope = { kind: 'task', taskId: task_id } as const;
  const grant = { scope, expiresAt: null, isAgentKey: false, isReadOnly: false };
  const { messages } = scopedService(counted, grant, undefined);
  const edited = await messages.updateMany({ task_id, updates: editsOf(created, 'y') });
  expect(new Set(textsOf(edited))).toEqual(new Set(['y']));
  expect(gets).toBeLessThan(10);
  // A batch with a message of a different task changes nothing.
  const { id: other } = await newTask('listener');
  const foreign = await service.messages.create({ task_id: other, content: userText('x') });
  const updates = editsOf([...created, foreign], 'z');
  await expect(messages.updateMany({ task_id, updates })).rejects.toMatchObject({
    code: 'not_found',
  });
  expect(new Set(textsOf((await service.messages.list(newest(task_id, []))).data))).toEqual(
    new Set(['y']),
  );
});

test('18.490: a batch edits several messages of one item, and a batch with an unknown id edits none', async () => {
  const { service, newTask, log } = await createTaskHarness([quiet]);
  const { id: task_id } = await newTask('listener');
  const driver = await log.open(task_id, { takeOver: true });
  await driver.append(itemOfParts(60));
  await driver.release();
  const created = (await service.messages.list(newest(task_id, []))).data.toReversed();
  for (const text of ['y', 'z']) {
    const updates = editsOf(created, text);
    const edited = await service.messages.updateMany({ task_id, updates });
    expect(edited.map(({ id }) => id)).toEqual(created.map(({ id }) => id));
  }
  const updates = { ...editsOf(created, 'w'), [`${task_id}.0.0.unknown`]: userText('w') };
  await expect(service.messages.updateMany({ task_id, updates })).rejects.toMatchObject({
    code: 'not_found',
  });
  const { data } = await service.messages.list(newest(task_id, []));
  expect(new Set(data.map(({ id }) => id))).toEqual(new Set(created.map(({ id }) => id)));
  expect(new Set(textsOf(data))).toEqual(new Set(['z']));
});

/** Returns the records of an item with several messages. The item is not finished. */
function itemOfParts(count: number, text = 'x'): readonly DraftRecord[] {
  const at = { turn: 0, attempt: 0 };
  const id = itemId('parts');
  const parts = Array.from({ length: count }, (_, n): DraftRecord => {
    const part = { kind: 'text', text } as const;
    return {
      ...at,
      delta: { type: 'commit_part', partId: partId(0, 0, `p${n}`), itemId: id, part },
    };
  });
  return [{ ...at, fact: { type: 'item_started', itemId: id, kind: 'user' } }, ...parts];
}

const quiet = { type: 'async', name: 'listener', onEvent: async () => {} } as const;

const page = { limit: 1000, pageNumber: 1, orderBy: 'created_at', direction: 'desc' } as const;

const newest = (taskId: string, filters: readonly MessageFilter[]) => ({
  ...page,
  taskId,
  filters,
});

test('18.491: attack: many filters do not convert every message to JSON, and other requests run meanwhile', async () => {
  const { service, newTask } = await createTaskHarness([quiet]);
  const { id: task_id } = await newTask('listener');
  const long = 'x'.repeat(2 ** 16);
  await service.messages.createMany({
    task_id,
    contents: Array.from({ length: 64 }, () => userText(long)),
  });
  await service.messages.create({ task_id, content: userText('no7') });
  const filters = Array.from(
    { length: 32 },
    (_, at): MessageFilter => ({
      content: { type: 'text', content: `no${at}` },
      exclude: false,
    }),
  );
  const { stringify } = JSON;
  let characters = 0;
  const spy = vi.spyOn(JSON, 'stringify').mockImplementation((...given: [unknown]) => {
    const text = stringify(...given);
    characters += text?.length ?? 0;
    return text;
  });
  const listed = turnsDuring(service.messages.list(newest(task_id, filters)));
  const { result, turns } = await listed.finally(() => spy.mockRestore());
  expect(textsOf(result.data)).toEqual(['no7']);
  expect(characters).toBeLessThan(2 ** 20);
  expect(turns).toBeGreaterThanOrEqual(4);
});

test('18.494: attack: a session that is too large to read is answered with 413', async () => {
  const { service, newTask, log } = await createTaskHarness([quiet]);
  const { id } = await newTask('listener');
  await service.close();
  const driver = await log.open(id, { takeOver: true });
  await driver.append(itemOfParts(60, 'x'.repeat(1000)));
  await driver.release();
  // A new service has nothing of the session in memory.
  sessionStates(log, { maxSessionBytes: 2 ** 14 }).forget(sessionId(id));
  const journal = new LocalJournal(id, { log, clock: systemClock, ids });
  onTestFinished(() => journal.close());
  const refused = await journal.state().then(() => undefined, asServerError);
  expect(refused).toMatchObject({ code: 'too_large', status: 413 });
});

const reasoning = (count: number) => {
  const head = { type: 'reasoning', author: 'agent', style: 'static' } as const;
  return { ...head, summary: Array<string>(count).fill('x'), content: [] };
};

test('18.1424: attack: a batch of messages with very many parts keeps the server from answering', async () => {
  const { service, newTask, messages } = await createTaskHarness([quiet]);
  const { id: task_id } = await newTask('listener');
  const refused = { code: 'too_large' };
  const many = Array.from({ length: 20 }, () => reasoning(1000));
  const create = service.messages.createMany({ task_id, contents: many });
  await expect(create).rejects.toMatchObject(refused);
  expect(await messages(task_id)).toEqual([]);
  const created = await service.messages.createMany({ task_id, contents: contents(20) });
  const updates = Object.fromEntries(created.map(({ id }) => [id ?? '', reasoning(1000)]));
  const edit = service.messages.updateMany({ task_id, updates });
  await expect(edit).rejects.toMatchObject(refused);
  expect(await messages(task_id)).toEqual(created);
  // Each batch with at most as many parts as one message can have is accepted.
  const most = Array.from({ length: 4 }, () => reasoning(1000));
  expect(await service.messages.createMany({ task_id, contents: most })).toHaveLength(4);
});

test('18.1424: attack: a small batch replaces messages with very many parts in one turn of the event loop', async () => {
  const { service, newTask } = await createTaskHarness([quiet]);
  const { id: task_id } = await newTask('listener');
  const old = Array.from({ length: 32 }, () => reasoning(120));
  const created = await service.messages.createMany({ task_id, contents: old });
  const edit = service.messages.updateMany({ task_id, updates: editsOf(created, 'y') });
  const { result: edited, turns } = await turnsDuring(edit);
  expect(new Set(textsOf(edited))).toEqual(new Set(['y']));
  expect(turns).toBeGreaterThanOrEqual(6);
});
