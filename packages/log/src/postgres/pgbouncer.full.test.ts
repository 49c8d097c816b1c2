import { randomUUID } from 'node:crypto';
import { sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { markers } from '../suite/drafts.ts';
import type { LogSubject } from '../suite/index.ts';
import { casesBehindLayer } from '../testing/law-runs.ts';
import { describeOnPgBouncer, usePgBouncer } from '../testing/start-pgbouncer.ts';
import { usePostgres } from '../testing/start-postgres.ts';
import { PostgresStoreLog, postgresLog } from './postgres-log.ts';

const describe = describeOnPgBouncer();
const server = usePostgres();
const pooler = usePgBouncer(server);

const subject: LogSubject = {
  isDurable: true,
  async create(clock) {
    const schema = `s_${randomUUID().replaceAll('-', '')}`;
    const { url } = pooler();
    const options = { url, schema, clock, commitIntervalMs: 2, pollIntervalMs: 20 };
    const logs: PostgresStoreLog[] = [];
    return {
      async open() {
        const log = new PostgresStoreLog(options);
        logs.push(log);
        return log;
      },
      remove: () => server().dropSchema(schema),
      async whenIdle() {
        for (const log of logs) await log.quiet();
      },
    };
  },
};

describe('21.I: the Postgres log passes the conformance suite behind PgBouncer in transaction mode', () => {
  for (const { name, run } of casesBehindLayer(subject)) test(name, run);
});

describe('21.I: behind PgBouncer in transaction mode', () => {
  test('20 logs write at the same time over 4 connections', async () => {
    const options = { url: pooler().url, schema: 'many' };
    const logs = Array.from({ length: 20 }, () => postgresLog(options));
    await Promise.all(logs.map((log) => log.ready()));
    const throughs = await Promise.all(
      logs.map(async (log, index) => {
        const driver = await log.open(sessionId(`s${index}`));
        for (let round = 0; round < 5; round++) await driver.append(markers(3));
        return (await log.read(sessionId(`s${index}`))).through;
      }),
    );
    expect(throughs).toEqual(logs.map(() => 15));
    await Promise.all(logs.map((log) => log.close()));
  });

  test('a follower gets notifications over `directUrl`, without polling', async () => {
    const dayMs = 24 * 3_600_000;
    const pooled = { url: pooler().url, schema: 'direct', pollIntervalMs: dayMs };
    const [writer, reader] = [
      postgresLog(pooled),
      postgresLog({ ...pooled, directUrl: server().url }),
    ];
    const session = sessionId('s');
    const driver = await writer.open(session);
    await driver.append(markers(1));
    const batches = reader.follow(session)[Symbol.asyncIterator]();
    expect((await batches.next()).value?.through).toBe(1);
    for (let through = 2; through < 5; through++) {
      const next = batches.next();
      await driver.append(markers(1));
      expect((await next).value?.through).toBe(through);
    }
    await batches.return?.();
    await reader.close();
    await writer.close();
  });
});
