import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { cuttingProxy } from '../../../../log/src/testing/cutting-proxy.ts';
import { describeOnPgBouncer, usePgBouncer } from '../../../../log/src/testing/start-pgbouncer.ts';
import { describeOnPostgres, usePostgres } from '../../../../log/src/testing/start-postgres.ts';
import { rowCases } from '../suite/index.ts';
import { postgresRows } from './postgres-rows.ts';

const describe = describeOnPostgres();

const server = usePostgres();

const newSchema = () => `rows_${randomUUID().replaceAll('-', '')}`;

describe('rows in Postgres pass the suite', () => {
  const cases = rowCases({
    isDurable: true,
    async create(clock) {
      const schema = newSchema();
      return {
        open: () => postgresRows({ url: server().url, schema, clock }),
        remove: () => server().dropSchema(schema),
      };
    },
  });
  for (const { name, run } of cases) test(name, run);
});

describeOnPgBouncer()('21.I: rows in Postgres behind PgBouncer in transaction mode', () => {
  const pooler = usePgBouncer(server);
  const cases = rowCases({
    isDurable: true,
    async create(clock) {
      const schema = newSchema();
      return {
        open: () => postgresRows({ url: pooler().url, schema, clock }),
        remove: () => server().dropSchema(schema),
      };
    },
  });
  for (const { name, run } of cases) test(name, run);
});

describe('rows in Postgres', () => {
  test('lose no update when three connections increment a counter', async () => {
    const schema = newSchema();
    const opened = await Promise.all(
      [0, 1, 2].map(() => postgresRows({ url: server().url, schema })),
    );
    const count = async (rows: (typeof opened)[number]) => {
      for (let done = 0; done < 20; ) {
        const row = await rows.get('states', 'count');
        const data = { n: Number(row?.data['n'] ?? 0) + 1 };
        const put = rows.put(
          'states',
          { id: 'count', keys: {}, data },
          { ifVersion: row?.version ?? 0 },
        );
        done += await put.then(
          () => 1,
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'conflict' });
            return 0;
          },
        );
      }
    };
    await Promise.all(opened.map(count));
    expect(await opened[0]?.get('states', 'count')).toMatchObject({ data: { n: 60 }, version: 60 });
    for (const rows of opened) await rows.close();
  });

  test('21.A: of version 1 are migrated and keep everything, and an earlier release cannot write', async () => {
    const client = new Client({ connectionString: server().url });
    await client.connect();
    const dump = new URL('../../../fixtures/rows/version-1.sql', import.meta.url);
    await client.query(readFileSync(dump, 'utf8'));
    const rows = await postgresRows({ url: server().url, schema: 'rows_v1' });
    expect(await rows.get('tasks', 'task-1')).toMatchObject({
      ...{ version: 2, epoch: 0, createdAt: 1_763_200_000_001, updatedAt: 1_763_200_000_004 },
      ...{ keys: { name: 'order-task-1' }, data: { status_reason: 'second version' } },
    });
    const shown = await rows.list('tasks', { where: { is_shown: 'yes' } });
    expect(shown.map(({ id }) => id)).toEqual(['task-1', 'task-2']);
    const recent = await rows.list('tasks', { where: { place: 'recent' } });
    expect(recent.map(({ id, keys }) => [id, keys['place']])).toEqual([
      ['task-1', 'recent'],
      ['task-2', 'recent'],
    ]);
    const put = client.query(
      `INSERT INTO rows_v1.rows VALUES ('tasks', 'task-1', 9, 0, 0, '{}', '{}')
       ON CONFLICT (tbl, id) DO UPDATE SET version = excluded.version`,
    );
    await expect(put).rejects.toMatchObject({ code: '23502' });
    const row = { id: 'task-1', keys: {}, data: {} };
    expect((await rows.put('tasks', row, { epoch: 4 })).epoch).toBe(4);
    await client.query('UPDATE rows_v1.version SET version = 99');
    await expect(rows.put('tasks', row)).rejects.toMatchObject({ code: 'too_new' });
    await expect(rows.claim('tasks', 'task-1', 9)).rejects.toMatchObject({ code: 'too_new' });
    await rows.close();
    await client.end();
    await server().dropSchema('rows_v1');
  });

  test('have a unique name, even with concurrent puts', async () => {
    const schema = newSchema();
    const rows = await postgresRows({ url: server().url, schema, maxConnections: 8 });
    const keys = { name: 'demo' };
    const puts = Array.from({ length: 8 }, (_, n) =>
      rows.put('tasks', { id: `task ${n}`, keys, data: {} }),
    );
    const ends = await Promise.allSettled(puts);
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const end of ends)
      if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'conflict' });
    await rows.close();
  });

  test('reconnect after a restart of Postgres', async () => {
    const rows = await postgresRows({ url: server().url, schema: newSchema() });
    await rows.put('tasks', { id: 'a', keys: {}, data: { n: 1 } });
    await server().stop();
    const found = rows.get('tasks', 'a');
    await server().start();
    expect(await found).toMatchObject({ data: { n: 1 } });
    await rows.close();
  });

  test('survive a connection that breaks during a put', async () => {
    const schema = newSchema();
    const proxy = await cuttingProxy(server().port);
    const url = server().url.replace(`:${server().port}/`, `:${proxy.port}/`);
    const rows = await postgresRows({ url, schema });
    for (const [n, when] of (['before', 'after'] as const).entries()) {
      proxy.cutAt('INSERT INTO', when);
      const row = { id: 'a', keys: {}, data: { n } };
      expect(await rows.put('tasks', row)).toMatchObject({ version: n + 1, data: { n } });
    }
    expect(proxy.cuts).toBe(2);
    await rows.close();
    await proxy.close();
  });

  test('that cannot connect give the reason without the password', async () => {
    const opening = postgresRows({ url: 'postgres://me:very-secret@127.0.0.1:1/db' });
    const error = await opening.catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ code: 'storage' });
    expect(`${(error as Error).message}${(error as Error).stack}`).not.toContain('very-secret');
    await expect(postgresRows({ url: 'nowhere' })).rejects.toMatchObject({ code: 'storage' });
  });
});
