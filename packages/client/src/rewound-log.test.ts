import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentEvent } from '@millrace/core';
import { type SqliteLog, sqliteLog } from '@millrace/log/sqlite';
import { createServer, type Server } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { afterAll, expect, test } from 'vitest';
import type { TaskHandle, TaskSnapshot } from './contract/task-handle.ts';
import { createClient } from './create-client.ts';
import { echo } from './testing/agents.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-rewound-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Served {
  readonly server: Server;
  readonly log: SqliteLog;
  readonly port: number;
}

async function serve(port: number, path: string): Promise<Served> {
  const log = sqliteLog({ path, onRewound: () => {} });
  const rows = sqliteRows({ path: `${path}.rows` });
  const server = createServer({ tokens: 'none', agents: [echo], log, rows });
  const { url } = await server.listen({ port });
  return { server, log, port: Number(new URL(url).port) };
}

const texts = ({ items }: Pick<TaskSnapshot, 'items'>) =>
  items.flatMap(({ parts }) => parts.map((part) => ('text' in part ? part.text : part.kind)));
/** The run must have ended too, because recovery would fail a task whose restored log has an open run. */
const hasAnswer = (text: string) => (snapshot: TaskSnapshot) =>
  snapshot.state.run === undefined && texts(snapshot).filter((said) => said === text).length === 2;

/** Stops the server, restores the backup, and starts a server on the same port. */
async function restoreBackup({ server, log, port }: Served, path: string): Promise<Served> {
  await server.close();
  await log.close();
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  copyFileSync(`${path}.backup`, path);
  return serve(port, path);
}

/** Collects events until the iteration ends, and returns the error. */
async function readEvents(task: TaskHandle, into: AgentEvent[]): Promise<unknown> {
  try {
    for await (const event of task.events()) into.push(event);
  } catch (error) {
    return error;
  }
  return undefined;
}

test('21.B: a client that was connected shows what a restored log contains, and what follows', async () => {
  const path = join(folder, 'used.db');
  const first = await serve(0, path);
  const url = `http://127.0.0.1:${first.port}`;
  const backOff = { baseMs: 5, maxMs: 20 };
  const [client, other] = [createClient({ url, backOff }), createClient({ url, backOff })];
  const task = await client.createTask({ agent: 'echo' });
  const shown: string[][] = [];
  const leave = task.subscribe(() => shown.push(texts(task.snapshot())));
  const events: AgentEvent[] = [];
  const ended = readEvents(task, events);
  await task.send('one');
  await task.until(hasAnswer('one'));
  await first.log.backup(`${path}.backup`);
  await task.send('lost');
  await task.until(hasAnswer('lost'));
  const { through } = task.snapshot().state;
  const second = await restoreBackup(first, path);
  const again = other.task(task.id);
  for (const text of ['two', 'three']) {
    await again.send(text);
    await again.until(hasAnswer(text));
  }
  await task.until(hasAnswer('three'));
  expect(texts(task.snapshot())).toEqual(['one', 'one', 'two', 'two', 'three', 'three']);
  expect(task.snapshot().state).toEqual(again.snapshot().state);
  expect(shown.at(-1)).toEqual(texts(task.snapshot()));
  // The client cannot take back events, so their reader gets an error.
  expect(await ended).toMatchObject({ code: 'rewound' });
  const old = `${url}/tasks/${task.id}/stream?from=${through}-0000000001`;
  const refusal = await fetch(old);
  expect(refusal.status).toBe(410);
  expect(await refusal.json()).toMatchObject({
    error: { code: 'rewound' },
    message: expect.stringMatching(/rewound.*Read again/) as string,
  });
  leave();
  for (const one of [client, other]) one.close();
  await second.server.close();
  await second.log.close();
});

test('21.B: a client that was connected to an empty task continues with the restored log', async () => {
  const path = join(folder, 'empty.db');
  const first = await serve(0, path);
  const url = `http://127.0.0.1:${first.port}`;
  const backOff = { baseMs: 5, maxMs: 20 };
  const [client, other] = [createClient({ url, backOff }), createClient({ url, backOff })];
  const task = await client.createTask({ agent: 'echo' });
  const leave = task.subscribe(() => {});
  await task.until(({ connection }) => connection.state === 'live');
  expect(task.snapshot().state.through).toBe(0);
  await first.log.backup(`${path}.backup`);
  const second = await restoreBackup(first, path);
  await other.task(task.id).send('one');
  await task.until(hasAnswer('one'));
  expect(texts(task.snapshot())).toEqual(['one', 'one']);
  leave();
  for (const one of [client, other]) one.close();
  await second.server.close();
  await second.log.close();
});
