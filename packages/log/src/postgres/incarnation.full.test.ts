import { sessionId } from '@millrace/core';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markers } from '../suite/drafts.ts';
import { Follower, readAll } from '../suite/follower.ts';
import { describeOnPostgres, hasPostgres, usePostgres } from '../testing/start-postgres.ts';
import { type PostgresLog, postgresLog } from './postgres-log.ts';

const describe = describeOnPostgres();
const session = sessionId('s');
const hasCode = (code: string) => expect.objectContaining({ code }) as Error;

const server = usePostgres();
let client: Client;
beforeAll(async () => {
  if (!hasPostgres) return;
  client = new Client({ connectionString: server().url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
});

const open = (schema: string) => postgresLog({ url: server().url, schema, pollIntervalMs: 60_000 });
const incarnationOf = async (log: PostgresLog) =>
  (await log.info(session))?.incarnation ?? 'no session';

describe('21.B: a log in Postgres that was rewound', () => {
  test('21.B: gets a new incarnation in SQL, which stops followers and drivers of all processes', async () => {
    const [one, two] = [open('renewed'), open('renewed')];
    const driver = await one.open(session);
    await driver.append(markers(3));
    const incarnation = await incarnationOf(one);
    expect(await incarnationOf(two)).toBe(incarnation);
    const followers = [one, two].map((log) => new Follower(log, session));
    for (const follower of followers) await follower.reach(3);
    const ends = followers.map((follower) => follower.reach(4).catch((error: unknown) => error));
    await client.query('SELECT renewed.renew_incarnation()');
    for (const end of ends) expect(await end).toEqual(hasCode('rewound'));
    await expect(driver.append(markers(1))).rejects.toEqual(hasCode('fenced'));
    const from = { from: 3, incarnation };
    await expect(two.read(session, from)).rejects.toEqual(hasCode('rewound'));
    await two.renewIncarnation();
    const later = await two.open(session, { takeOver: true });
    expect(later.epoch).toBeGreaterThan(2_000_000_000);
    expect(await readAll(two, session)).toHaveLength(3);
    await Promise.all([one.close(), two.close()]);
  });

  test('21.B: never gives an epoch again, even if the same backup is restored twice', async () => {
    const log = open('twice');
    await (await log.open(session)).release();
    const { rows } = await client.query<{ readonly last: string }>(
      'SELECT last_value AS last FROM twice.drivers',
    );
    const restored = async () => {
      await client.query(`SELECT setval('twice.drivers', $1::bigint)`, [rows[0]?.last]);
      await log.renewIncarnation();
      const driver = await log.open(session);
      await driver.release();
      return driver.epoch;
    };
    expect(await restored()).not.toBe(await restored());
    await log.close();
  });

  test('21.B: is found if its server has another history, such as after a recovery or on another server', async () => {
    const before = open('moved');
    await (await before.open(session)).append(markers(2));
    const incarnation = await incarnationOf(before);
    await before.close();
    const again = open('moved');
    expect(await incarnationOf(again)).toBe(incarnation);
    await again.close();
    await client.query(`UPDATE moved.log_state SET history = '7000000000000000001/00000001'`);
    const [one, two] = [open('moved'), open('moved')];
    const [first, second] = await Promise.all([incarnationOf(one), incarnationOf(two)]);
    expect(first).not.toBe(incarnation);
    expect(second).toBe(first);
    await Promise.all([one.close(), two.close()]);
  });
});

describe('21.M: a program that runs while a later one migrates the tables', () => {
  test('21.M: is refused before it writes again', async () => {
    const log = open('migrated');
    const driver = await log.open(session);
    await driver.append(markers(2));
    await client.query('UPDATE migrated.version SET version = version + 1');
    await expect(driver.append(markers(1))).rejects.toEqual(hasCode('too_new'));
    await expect(log.submit(session, {}, 'key')).rejects.toEqual(hasCode('too_new'));
    const { rows } = await client.query('SELECT max(through) AS through FROM migrated.sessions');
    expect(rows).toEqual([{ through: '2' }]);
    await client.query('UPDATE migrated.version SET version = version - 1');
    expect(await log.submit(session, {}, 'key')).toEqual({ offset: 3, isRepeat: false });
    await log.close();
  });

  test('21.M: of version 1 cannot stamp a commit, and its error says why', async () => {
    const log = open('first_version');
    await log.ready();
    // What version 1 runs when it connects and with each commit.
    const stamp = `INSERT INTO first_version.writers VALUES ('a', 1, now())
      ON CONFLICT (id) DO UPDATE SET commits = excluded.commits, seen_at = excluded.seen_at`;
    await expect(client.query(stamp)).rejects.toThrow(/migrated this log to version 2/);
    await log.close();
  });
});
