import { type DraftRecord, isMillraceError, type SessionId, sessionId } from '@millrace/core';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import type { Driver, Log } from '../contract/log.ts';
import { wholeItem } from '../suite/drafts.ts';
import { Follower, readAll } from '../suite/follower.ts';
import { TestClock } from '../suite/test-clock.ts';
import { describeOnPostgres, usePostgres } from '../testing/start-postgres.ts';
import { type PostgresLog, postgresLog } from './postgres-log.ts';

const describe = describeOnPostgres();
const ids = ['a', 'b', 'c'].map(sessionId);
const note = (to: string): DraftRecord => ({
  turn: 0,
  attempt: 0,
  fact: { type: 'handed_off', to },
});

const server = usePostgres();

const open = (schema: string, more = {}): PostgresLog =>
  postgresLog({ url: server().url, schema, commitIntervalMs: 0, ...more });

/** The value, or `undefined` if another process fenced this one. */
async function orFenced<T>(attempt: Promise<T>): Promise<T | undefined> {
  try {
    return await attempt;
  } catch (error) {
    if (isMillraceError(error) && ['fenced', 'no_session'].includes(error.code)) return undefined;
    throw error;
  }
}

/** Takes over the session and appends, again and again. */
async function push(
  log: Log,
  session: SessionId,
  name: string,
  acknowledged: Set<string>,
): Promise<void> {
  let driver: Driver | undefined;
  for (let count = 0; count < 25; count++) {
    if (driver === undefined || count % 5 === 0)
      driver = await log.open(session, { takeOver: true });
    const text = `${name} ${count}`;
    const batch = await orFenced(driver.append([note(text), note(`${text} more`)]));
    if (batch === undefined) driver = undefined;
    else for (const one of [text, `${text} more`]) acknowledged.add(one);
    const key = `${name} ${count % 7}`;
    await log.submit(session, {}, key);
  }
}

describe('several logs that write the same sessions concurrently', () => {
  test('law 9: acknowledged records are stored once and in order, and fenced ones are not stored', async () => {
    const logs = [open('crowd'), open('crowd'), open('crowd')] as const;
    const acknowledged = new Map(ids.map((id) => [id, new Set<string>()]));
    await Promise.all(
      logs.flatMap((log, index) =>
        ids.map((id) => push(log, id, `${index} ${id}`, acknowledged.get(id) ?? new Set())),
      ),
    );
    for (const id of ids) {
      const records = await readAll(logs[0], id);
      expect(records.map(({ offset }) => offset)).toEqual(records.map((_, index) => index + 1));
      const notes = records.flatMap(({ fact }) => (fact?.type === 'handed_off' ? [fact.to] : []));
      expect(new Set(notes).size).toBe(notes.length);
      expect(new Set(notes)).toEqual(acknowledged.get(id));
      const keys = records.flatMap(({ fact }) =>
        fact?.type === 'command_queued' ? [fact.key] : [],
      );
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys).toHaveLength(21);
    }
    for (const log of logs) await log.close();
  });

  test('do not deadlock, for any mix of sessions and blobs', async () => {
    const logs = [open('ring'), open('ring'), open('ring')] as const;
    const bytes = [1, 2, 3].map((one) => Uint8Array.of(one));
    const work = async (log: Log, index: number): Promise<void> => {
      for (let count = 0; count < 15; count++) {
        const [from, to] = [ids[(index + count) % 3], ids[(index + 2 * count + 1) % 3]];
        if (from === undefined || to === undefined) continue;
        const driver = await log.open(from, { takeOver: true });
        const { hash, length } = await log.blobs.put(bytes[count % 3] ?? new Uint8Array());
        const source = { type: 'blob', hash, length } as const;
        const part = { kind: 'media', mimeType: 'a/b', source } as const;
        await orFenced(driver.append(wholeItem(`${index}-${count}`, part)));
        const fork = { into: to, through: 0 };
        await log.fork(from, fork).catch((error: unknown) => {
          if (!isMillraceError(error) || !/session/.test(error.code)) throw error;
        });
        if (count % 4 === 3) await log.delete(to);
      }
    };
    await Promise.all(logs.map(work));
    const [log] = logs;
    // Every referenced blob exists.
    for (const { session } of await log.list())
      for (const { delta } of await readAll(log, session)) {
        const part = delta?.type === 'commit_part' ? delta.part : undefined;
        if (part?.kind === 'media' && part.source.type === 'blob')
          expect(await log.blobs.get(part.source.hash)).toHaveLength(1);
      }
    for (const one of logs) await one.close();
    const client = new Client({ connectionString: server().url });
    await client.connect();
    // A retry would hide a deadlock, so count the deadlocks of the server.
    const sql = 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()';
    expect((await client.query(sql)).rows).toEqual([{ deadlocks: '0' }]);
    await client.end();
  });
});

describe('notices', () => {
  test('with too many session ids still wake all followers', async () => {
    const [log, elsewhere] = [open('many'), open('many', { pollIntervalMs: 3_600_000 })];
    // Together these ids are too long for one notification.
    const long = Array.from({ length: 20 }, (_, n) => sessionId(`${n} ${'x'.repeat(1000)}`));
    const drivers = await Promise.all(long.map((id) => log.open(id)));
    const followers = long.map((id) => new Follower(elsewhere, id));
    for (const follower of followers) void follower.request();
    await Promise.all(drivers.map((driver) => driver.append([note('one')])));
    for (const follower of followers) await follower.reach(1);
    await Promise.all(drivers.map((driver) => driver.append([note('two')])));
    for (const follower of followers) {
      await follower.reach(2);
      await follower.leave();
    }
    await Promise.all([log.close(), elsewhere.close()]);
  });
});

describe('blobs without references', () => {
  test('are deleted a day after they were stored, and referenced ones stay', async () => {
    const clock = new TestClock();
    const log = open('forgotten', { clock });
    const driver = await log.open(sessionId('s'), { leaseMs: Number.POSITIVE_INFINITY });
    const named = await log.blobs.put(Uint8Array.of(1));
    const forgotten = await log.blobs.put(Uint8Array.of(2));
    const source = { type: 'blob', ...named } as const;
    await driver.append(wholeItem('picture', { kind: 'media', mimeType: 'a/b', source }));
    expect(await log.vacuum()).toBe(0);
    clock.jump(24 * 3_600_000 + 1);
    const fresh = await log.blobs.put(Uint8Array.of(3));
    expect(await log.vacuum()).toBe(1);
    expect(await log.blobs.get(forgotten.hash)).toBeUndefined();
    for (const { hash } of [named, fresh]) expect(await log.blobs.get(hash)).toHaveLength(1);
    await log.close();
  });
});
