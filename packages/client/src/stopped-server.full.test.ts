import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Item, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { postgresLog } from '@millrace/log/postgres';
import { sqliteLog } from '@millrace/log/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { describeOnPostgres, usePostgres } from '../../log/src/testing/start-postgres.ts';
import { startProcess } from '../../log/src/testing/start-process.ts';
import type { TaskHandle } from './contract/task-handle.ts';
import { createClient } from './create-client.ts';

const program = new URL('./testing/serve-shared.ts', import.meta.url);

async function serve(store: string) {
  const said = Promise.withResolvers<{ readonly url: string }>();
  const child = startProcess(program, {
    ...{ args: [store], onMessage: (told) => said.resolve(told as never) },
  });
  void child.exit.then(({ stderr }) => said.reject(new Error(`It did not start: ${stderr}`)));
  onTestFinished(async () => {
    // SIGKILL also ends a stopped process.
    child.kill('SIGKILL');
    await child.exit;
  });
  const { url } = await said.promise;
  const client = createClient({ url, backOff: { baseMs: 50, maxMs: 500 } });
  onTestFinished(() => client.close());
  return { child, client };
}

const lengthOf = (items: readonly Item[]) => {
  const part = items.at(-1)?.parts[0];
  return part?.kind === 'text' ? part.text.length : 0;
};

const isAnswered = (task: TaskHandle) =>
  task.until(
    ({ isRunning, state }) => !isRunning && state.through > 0 && task.transcript.length > 1,
  );

/**
 * The first server is stopped for longer than its lease. The second server takes over the run and finishes
 * it. Then the first server continues. The row, the log and both clients must agree.
 */
async function takenOver(store: string, openLog: () => Log): Promise<void> {
  const first = await serve(store);
  const second = await serve(store);
  const stale = await first.client.createTask({ agent: 'speaker', name: 'taken-over' });
  stale.subscribe(() => {});
  const task = second.client.task(stale.id);
  task.subscribe(() => {});
  await stale.send('Go');
  await stale.until(() => lengthOf(stale.transcript) > 200);
  first.child.kill('SIGSTOP');
  // The lease of the first server expires, and the second server scans for orphaned runs.
  await isAnswered(task);
  first.child.kill('SIGCONT');
  await isAnswered(stale);
  // After it has closed, the first server writes nothing more.
  first.child.send('close');
  expect(await first.child.exit).toMatchObject({ code: 0 });

  const log = openLog();
  onTestFinished(() => log.close());
  const stored = transcript(await snapshot(log, sessionId(stale.id)));
  const plain = (items: readonly Item[]): unknown => JSON.parse(JSON.stringify(items));
  expect(plain(task.transcript)).toEqual(plain(stored));
  expect(plain(stale.transcript)).toEqual(plain(stored));
  expect(await log.info(sessionId(stale.id))).toMatchObject({ hasWork: false });
  const { data } = await second.client.tasks();
  expect(data).toMatchObject([{ id: stale.id, status: 'RUNNING' }]);
  expect(task.snapshot()).toMatchObject({
    ...{ connection: { state: 'live' }, task: { status: 'RUNNING' } },
  });

  await task.send('And again');
  await task.until(() => task.transcript.length > stored.length + 1 && !task.snapshot().isRunning);
  expect(lengthOf(task.transcript)).toBe(lengthOf(stored));
}

test('21.A: on one SQLite file, a stopped server whose run was taken over changes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stopped-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await takenOver(folder, () => sqliteLog({ path: join(folder, 'log.db') }));
});

describeOnPostgres()('on one Postgres database', () => {
  const server = usePostgres();

  test('21.A: a stopped server whose run was taken over changes nothing', async () => {
    await takenOver(server().url, () => postgresLog({ url: server().url }));
  });
});
