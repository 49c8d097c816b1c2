import { sessionId } from '@millrace/core';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { marker, markers } from '../suite/drafts.ts';
import { offsets } from '../suite/follower.ts';
import { type CuttingProxy, cuttingProxy } from '../testing/cutting-proxy.ts';
import { describeOnPostgres, hasPostgres, usePostgres } from '../testing/start-postgres.ts';
import { type PostgresLog, postgresLog } from './postgres-log.ts';

const describe = describeOnPostgres();
const session = sessionId('s');
const dayMs = 24 * 3_600_000;

const server = usePostgres();
let proxy: CuttingProxy;
let client: Client;
beforeAll(async () => {
  if (!hasPostgres) return;
  proxy = await cuttingProxy(server().port);
  client = new Client({ connectionString: server().url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await proxy?.close();
});

let count = 0;
const newSchema = () => `writers_${count++}`;

async function writersIn(schema: string): Promise<readonly string[]> {
  const { rows } = await client.query(`SELECT id FROM ${schema}.log_writers ORDER BY seen_at`);
  return rows.map(({ id }) => id);
}

/** Registers a writer by appending, and closes it. */
async function comeAndGo(schema: string): Promise<void> {
  const log = postgresLog({ url: server().url, schema });
  await log.submit(sessionId('other'), {}, `key ${count++}`);
  await log.close();
}

describe('the row of a killed writer', () => {
  test('is deleted by the next writer that connects a day later', async () => {
    const schema = newSchema();
    await comeAndGo(schema);
    await client.query(`INSERT INTO ${schema}.log_writers VALUES
      ('killed long ago', 3, now() - interval '25 hours'),
      ('killed today', 3, now() - interval '23 hours')`);
    const log = postgresLog({ url: server().url, schema });
    await log.submit(session, {}, 'key');
    expect(await writersIn(schema)).toEqual(['killed today', expect.any(String)]);
    await log.close();
    expect(await writersIn(schema)).toEqual(['killed today']);
  });

  test('is skipped while it is locked, because its writer is alive', async () => {
    const schema = newSchema();
    await comeAndGo(schema);
    await client.query(
      `INSERT INTO ${schema}.log_writers VALUES ('idle', 3, now() - interval '2 days')`,
    );
    await client.query(`BEGIN; SELECT * FROM ${schema}.log_writers FOR UPDATE`);
    await comeAndGo(schema);
    await client.query('COMMIT');
    expect(await writersIn(schema)).toEqual(['idle']);
  });
});

describe('an idle writer whose row was deleted', () => {
  /** Its connection stays open. */
  async function forgotten(schema: string): Promise<PostgresLog> {
    const url = server().url.replace(`:${server().port}/`, `:${proxy.port}/`);
    const log = postgresLog({ url, schema, commitIntervalMs: 0 });
    await log.submit(session, {}, 'first');
    await client.query(`UPDATE ${schema}.log_writers SET seen_at = now() - interval '2 days'`);
    await comeAndGo(schema);
    expect(await writersIn(schema)).toEqual([]);
    return log;
  }

  test.each(['before', 'after'] as const)(
    'stores each append once, also if the connection breaks %s its commit',
    async (when) => {
      const log = await forgotten(newSchema());
      const cuts = proxy.cuts;
      proxy.cutAt('COMMIT', when);
      expect(await log.submit(session, {}, 'second')).toEqual({ offset: 2, isRepeat: false });
      expect(proxy.cuts).toBe(cuts + 1);
      const driver = await log.open(session);
      expect(await driver.append(markers(2))).toMatchObject({ through: 4 });
      expect(await offsets(log, session)).toEqual([1, 2, 3, 4]);
      await log.close();
    },
  );
});

describe('a process that slept for a day during its commit', () => {
  test.each([
    ['before', 'Check the stored data before you write it again'],
    ['after', undefined],
  ] as const)('cut %s it, does not guess', async (when, refusal) => {
    const url = server().url.replace(`:${server().port}/`, `:${proxy.port}/`);
    let isAsleep = false;
    const onPoint = (point: string) => {
      if (isAsleep && point === 'before-commit') vi.setSystemTime(Date.now() + dayMs);
    };
    const log = postgresLog({ url, schema: newSchema(), commitIntervalMs: 0, onPoint });
    const driver = await log.open(session, { leaseMs: Number.POSITIVE_INFINITY });
    vi.useFakeTimers({ toFake: ['Date'] });
    isAsleep = true;
    proxy.cutAt('COMMIT', when);
    const outcome = await driver.append([marker('maybe')]).then(
      () => undefined,
      ({ message }: Error) => message,
    );
    vi.useRealTimers();
    if (refusal === undefined) expect(outcome).toBeUndefined();
    else expect(outcome).toContain(refusal);
    isAsleep = false;
    await log.close();
  });
});
