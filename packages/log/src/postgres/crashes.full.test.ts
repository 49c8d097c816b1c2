import { sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { commitPoints } from '../storage/record-store.ts';
import { readAll } from '../suite/follower.ts';
import { describeOnPostgres, usePostgres } from '../testing/start-postgres.ts';
import { startProcess } from '../testing/start-process.ts';
import { postgresLog } from './postgres-log.ts';

const describe = describeOnPostgres();
const session = sessionId('s');
const program = new URL('../testing/programs/write-and-crash.ts', import.meta.url);
const killsOfEach = 4;

const server = usePostgres();

describe('law 8: a process killed at any commit point', () => {
  test.each(commitPoints)('loses and duplicates no acknowledged record, at %s', async (point) => {
    const schema = `kill_${point.replaceAll('-', '_')}`;
    const acknowledged: string[] = [];
    const onTold = (value: unknown) => {
      const { to } = value as { readonly to?: string };
      if (to !== undefined) acknowledged.push(to);
    };
    const log = postgresLog({ url: server().url, schema });
    for (let kills = 1; kills <= killsOfEach; kills++) {
      // Each process continues immediately, because the previous holder of the lease is dead.
      const args = [server().url, schema, point, String(kills)];
      const { exit } = startProcess(program, { args, onMessage: onTold });
      expect(await exit).toMatchObject({ signal: 'SIGKILL' });
      const notes = (await readAll(log, session)).flatMap(({ fact }) =>
        fact?.type === 'handed_off' ? [fact.to] : [],
      );
      expect(notes).toEqual(notes.map((_, index) => String(index)));
      // All acknowledged records are stored, and at most one more that was in progress.
      expect(notes.length - acknowledged.length).toBeGreaterThanOrEqual(0);
      expect(notes.slice(0, acknowledged.length).length).toBe(acknowledged.length);
      expect(notes).toEqual(expect.arrayContaining(acknowledged));
    }
    await log.close();
  });
});

describe('a process that is stopped in the middle of a transaction', () => {
  test('blocks others until the server ends its transaction, and is fenced when it continues', async () => {
    const schema = 'stopped';
    const stopped = Promise.withResolvers<void>();
    const args = [server().url, schema, 'before-commit', '1', 'SIGSTOP'];
    const child = startProcess(program, { args, onMessage: () => stopped.resolve() });
    await stopped.promise;
    const log = postgresLog({ url: server().url, schema, commitIntervalMs: 0 });
    const driver = await log.open(session, { takeOver: true });
    expect(await driver.append([])).toMatchObject({ through: 0 });
    child.kill('SIGCONT');
    const { code, stderr } = await child.exit;
    expect([code, stderr]).toEqual([1, expect.stringContaining('fenced')]);
    expect(await readAll(log, session)).toEqual([]);
    await log.close();
  });
});
