import { sessionId } from '@millrace/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { marker, markers } from '../suite/drafts.ts';
import { Follower, offsets } from '../suite/follower.ts';
import { type CuttingProxy, cuttingProxy } from '../testing/cutting-proxy.ts';
import { describeOnPostgres, hasPostgres, usePostgres } from '../testing/start-postgres.ts';
import { type PostgresLogOptions, postgresLog } from './postgres-log.ts';

const describe = describeOnPostgres();
const session = sessionId('s');

const server = usePostgres();
let proxy: CuttingProxy;
beforeAll(async () => {
  if (!hasPostgres) return;
  proxy = await cuttingProxy(server().port);
});
afterAll(async () => {
  await proxy?.close();
});

let count = 0;
const newSchema = () => `outage_${count++}`;

function throughProxy(schema: string, options: Partial<PostgresLogOptions> = {}): Log {
  const url = server().url.replace(`:${server().port}/`, `:${proxy.port}/`);
  return postgresLog({ url, schema, commitIntervalMs: 0, ...options });
}

describe('a broken connection to Postgres', () => {
  test.each([
    ['before the commit arrives', 'before'],
    ['after the commit, before its answer', 'after'],
  ] as const)('%s leaves each append stored once, and the driver drives on', async (_, when) => {
    const schema = newSchema();
    const log = throughProxy(schema);
    const driver = await log.open(session);
    await driver.append([marker('first')]);
    const cuts = proxy.cuts;
    proxy.cutAt('COMMIT', when);
    expect(await driver.append(markers(3))).toMatchObject({ after: 1, through: 4 });
    expect(proxy.cuts).toBe(cuts + 1);
    expect(await driver.append([marker('last')])).toMatchObject({ after: 4, through: 5 });
    expect(await offsets(log, session)).toEqual([1, 2, 3, 4, 5]);
    await log.close();
  });

  test('during a transaction leaves each append stored once', async () => {
    const log = throughProxy(newSchema());
    const driver = await log.open(session);
    proxy.cutAt('put_sessions', 'after');
    expect(await driver.append(markers(2))).toMatchObject({ after: 0, through: 2 });
    proxy.cutAt('pg_advisory_xact_lock', 'after');
    expect(await driver.append(markers(2))).toMatchObject({ after: 2, through: 4 });
    expect(await offsets(log, session)).toEqual([1, 2, 3, 4]);
    await log.close();
  });

  test('is tried a second time, although this process was suspended for longer than the retry time', async () => {
    const log = throughProxy(newSchema(), { retryMs: 1 });
    const driver = await log.open(session);
    proxy.cutAt('pg_advisory_xact_lock', 'after');
    expect(await driver.append(markers(2))).toMatchObject({ after: 0, through: 2 });
    await log.close();
  });

  test('is replaced when a reader needs it', async () => {
    const log = throughProxy(newSchema());
    const driver = await log.open(session);
    await driver.append(markers(2));
    proxy.cutAt('LEFT JOIN LATERAL', 'after');
    expect((await log.read(session)).through).toBe(2);
    await log.close();
  });

  test('for longer than the retry time loses the driver with an unknown outcome', async () => {
    const schema = newSchema();
    const log = throughProxy(schema, { retryMs: 100 });
    const driver = await log.open(session);
    proxy.breakForGood();
    proxy.cutAt('COMMIT', 'after');
    await expect(driver.append([marker('maybe')])).rejects.toMatchObject({
      code: 'storage',
      message: expect.stringContaining('Check the stored data before you write it again'),
    });
    expect(await driver.lost).toMatchObject({ code: 'storage' });
    await expect(driver.append([marker('later')])).rejects.toMatchObject({ code: 'storage' });
    proxy.mend();
    // The next driver sees the outcome. The lease that could not be returned is free in this
    // process.
    const next = await log.open(session);
    expect(await next.append([marker('on')])).toMatchObject({ after: 0, through: 2 });
    await log.close();
  });
});

describe('a restarted Postgres', () => {
  test.each([
    ['stopped', 'stop'],
    ['cut off from its power', 'crash'],
  ] as const)(
    'after it was %s has all acknowledged records, and drivers and followers continue',
    async (_, how) => {
      const schema = newSchema();
      const options = { url: server().url, schema, commitIntervalMs: 0, pollIntervalMs: 100 };
      const [log, elsewhere] = [postgresLog(options), postgresLog(options)];
      const driver = await log.open(session, { leaseMs: Number.POSITIVE_INFINITY });
      await driver.append(markers(3));
      const follower = await new Follower(elsewhere, session).reach(3);
      const waiting = follower.request();
      await server()[how]();
      const append = driver.append(markers(2));
      await server().start();
      expect(await append).toMatchObject({ after: 3, through: 5 });
      await waiting;
      await follower.reach(5);
      for (let through = 6; through < 10; through++) {
        expect(await driver.append(markers(1))).toMatchObject({ through });
        await follower.reach(through);
      }
      expect(await offsets(elsewhere, session)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      await follower.leave();
      await Promise.all([log.close(), elsewhere.close()]);
    },
  );
});

describe('an error', () => {
  test('contains a remedy and not the password', async () => {
    const log = postgresLog({ url: 'postgres://me:very-secret@127.0.0.1:1/db' });
    const error = await log.info(session).catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ code: 'storage' });
    const { message, stack, cause } = error as Error;
    expect(message).toContain('127.0.0.1:1/db');
    expect(message).toContain('start Postgres');
    expect(`${message}${stack}${cause}${JSON.stringify(error)}`).not.toContain('very-secret');
    await expect(log.open(session)).rejects.toMatchObject({ code: 'storage' });
    await log.close();
    expect(() => postgresLog({ url: 'mysql://me:very-secret@host/db' })).toThrow(
      /write it as postgres/,
    );
    expect(() => postgresLog({ url: server().url, schema: 'a; DROP' })).toThrow(/schema/);
    for (const password of ['very@secret/word', 'very#secret', 'very/secret']) {
      const url = `postgres://me:${password}@host/db`;
      expect(() => postgresLog({ url })).toThrow(/%40|write it as postgres/);
      expect(() => postgresLog({ url })).not.toThrow(/secret/);
    }
  });

  test('does not delay closing the log', async () => {
    const log = throughProxy(newSchema(), { retryMs: 3_600_000 });
    const driver = await log.open(session);
    await driver.append([marker('first')]);
    await server().stop();
    const last = driver.append([marker('second')]).catch((error: unknown) => error);
    await log.close();
    expect(await last).toMatchObject({ code: expect.stringMatching(/storage|closed/) });
    await server().start();
  });
});
