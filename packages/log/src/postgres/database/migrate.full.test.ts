import { sessionId } from '@millrace/core';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markers } from '../../suite/drafts.ts';
import { describeOnPostgres, hasPostgres, usePostgres } from '../../testing/start-postgres.ts';
import { postgresLog } from '../postgres-log.ts';

const describe = describeOnPostgres();
const session = sessionId('s');

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

describe('a schema', () => {
  test('is created by the first process and opens for all concurrent ones', async () => {
    for (let round = 0; round < 5; round++) {
      const options = { url: server().url, schema: `first_${round}` };
      const logs = Array.from({ length: 6 }, () => postgresLog(options));
      const submitted = await Promise.all(
        logs.map((log, n) => log.submit(session, { n }, `key ${n}`)),
      );
      expect(submitted.map(({ offset }) => offset).sort()).toEqual([1, 2, 3, 4, 5, 6]);
      await Promise.all(logs.map((log) => log.close()));
    }
  });

  test('of a later version is refused and not changed', async () => {
    const options = { url: server().url, schema: 'later' };
    const log = postgresLog(options);
    await log.submit(session, {}, 'k');
    await log.close();
    await client.query('UPDATE later.version SET version = 99');
    const newer = postgresLog(options);
    await expect(newer.ready()).rejects.toMatchObject({ code: 'too_new' });
    await expect(newer.submit(session, {}, 'l')).rejects.toMatchObject({ code: 'too_new' });
    await newer.close();
    await client.query('UPDATE later.version SET version = 3');
    const again = postgresLog(options);
    expect(await again.submit(session, {}, 'l')).toEqual({ offset: 2, isRepeat: false });
    await again.close();
  });

  test('can be used by a user who cannot create it', async () => {
    const owner = postgresLog({ url: server().url, schema: 'granted' });
    await owner.submit(session, {}, 'k');
    await owner.close();
    await client.query(`CREATE ROLE guest LOGIN; REVOKE CREATE ON DATABASE postgres FROM PUBLIC;
      GRANT USAGE ON SCHEMA granted TO guest;
      GRANT ALL ON ALL TABLES IN SCHEMA granted TO guest;
      GRANT ALL ON ALL SEQUENCES IN SCHEMA granted TO guest`);
    const url = server().url.replace('millrace:', 'guest:');
    const guest = postgresLog({ url, schema: 'granted' });
    const driver = await guest.open(session, { from: 1 });
    expect(await driver.append(markers(1))).toMatchObject({ through: 2 });
    await guest.close();
    const stranger = postgresLog({ url, schema: 'refused' });
    await expect(stranger.ready()).rejects.toMatchObject({
      code: 'storage',
      message: expect.stringContaining('grant it CREATE on the database'),
    });
    await stranger.close();
  });

  test('with deleted rows gives an error and does not skip them', async () => {
    const log = postgresLog({ url: server().url, schema: 'damaged', commitIntervalMs: 0 });
    const driver = await log.open(session);
    for (let count = 0; count < 3; count++) await driver.append(markers(2));
    await client.query('DELETE FROM damaged.chunks WHERE last = 4');
    await expect(log.read(session)).rejects.toMatchObject({ code: 'corrupt' });
    await expect(log.read(session, { from: 2 })).rejects.toMatchObject({ code: 'corrupt' });
    expect((await log.read(session, { from: 4 })).through).toBe(6);
    await log.close();
  });
});

describe('the default schema', () => {
  const tablesIn = async (schema: string) => {
    const sql = 'SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename';
    const { rows } = await client.query(sql, [schema]);
    return rows.map(({ tablename }) => tablename);
  };

  test('20.12: contains no table of an application whose database user is called millrace', async () => {
    const { rows } = await client.query('SELECT current_user AS name');
    expect(rows[0].name).toBe('millrace');
    const log = postgresLog({ url: server().url });
    await log.submit(session, {}, 'k');
    await log.close();
    const app = new Client({ connectionString: server().url });
    await app.connect();
    await app.query('CREATE TABLE orders (id int)');
    await app.end();
    expect(await tablesIn('public')).toEqual(['orders']);
    expect(await tablesIn('millrace_log')).toContain('sessions');
    await client.query('DROP TABLE public.orders; DROP SCHEMA millrace_log CASCADE');
  });

  test('20.12: stays the one that an earlier version has created', async () => {
    // The schema with the name of the user exists, and so do the tables of an earlier version.
    const earlier = postgresLog({ url: server().url, schema: 'earlier' });
    await earlier.submit(session, {}, 'k');
    await earlier.close();
    await client.query('ALTER SCHEMA earlier RENAME TO millrace');
    const log = postgresLog({ url: server().url });
    expect(await log.submit(session, {}, 'l')).toEqual({ offset: 2, isRepeat: false });
    expect((await log.list()).map(({ session: id }) => id)).toEqual([session]);
    expect((await log.read(session)).through).toBe(2);
    await log.close();
    expect(await tablesIn('millrace_log')).toEqual([]);
    await client.query('DROP SCHEMA millrace CASCADE');
  });

  test('20.12: is the new one if the schema millrace belongs to the application', async () => {
    await client.query('CREATE SCHEMA millrace; CREATE TABLE millrace.sessions (id int)');
    const log = postgresLog({ url: server().url });
    expect(await log.submit(session, {}, 'k')).toEqual({ offset: 1, isRepeat: false });
    await log.close();
    expect(await tablesIn('millrace')).toEqual(['sessions']);
    await client.query('DROP SCHEMA millrace CASCADE; DROP SCHEMA millrace_log CASCADE');
  });

  test('20.12: is refused if it has the name of the database user', async () => {
    const log = postgresLog({ url: server().url, schema: 'millrace' });
    await expect(log.ready()).rejects.toMatchObject({
      code: 'bad_option',
      message: expect.stringContaining('Set another `schema`'),
    });
    await log.close();
    expect(await tablesIn('millrace')).toEqual([]);
  });
});

describe('one process', () => {
  test('combines concurrent appends of all sessions into one transaction', async () => {
    const log = postgresLog({ url: server().url, schema: 'grouped', commitIntervalMs: 20 });
    const ids = Array.from({ length: 50 }, (_, n) => sessionId(`s${n}`));
    const drivers = await Promise.all(ids.map((id) => log.open(id)));
    const before = log.transactions;
    for (let round = 1; round <= 4; round++) {
      const batches = await Promise.all(drivers.map((driver) => driver.append(markers(2))));
      expect(batches.map(({ through }) => through)).toEqual(ids.map(() => 2 * round));
    }
    expect(log.transactions - before).toBe(4);
    await log.close();
  });

  test('combines thousands of appends to a few sessions into one transaction', async () => {
    const log = postgresLog({ url: server().url, schema: 'streams', commitIntervalMs: 20 });
    const ids = Array.from({ length: 3 }, (_, n) => sessionId(`s${n}`));
    const drivers = await Promise.all(ids.map((id) => log.open(id)));
    const before = log.transactions;
    const appends = drivers.flatMap((driver) =>
      Array.from({ length: 1000 }, () => driver.append(markers(1))),
    );
    const batches = await Promise.all(appends);
    expect(batches.map(({ through }) => through)).toEqual(
      ids.flatMap(() => Array.from({ length: 1000 }, (_, index) => index + 1)),
    );
    expect(log.transactions - before).toBe(1);
    await log.close();
  });
});
