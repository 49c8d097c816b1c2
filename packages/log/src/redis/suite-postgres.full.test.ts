import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { PostgresStoreLog } from '../postgres/postgres-log.ts';
import type { LogSubject } from '../suite/index.ts';
import { casesBehindLayer, modelRuns, resumeRuns } from '../testing/law-runs.ts';
import { describeOnPostgres, startPostgres, type TestPostgres } from '../testing/start-postgres.ts';
import { needsRedis, startRedis, type TestRedis } from '../testing/start-redis.ts';
import { type RedisBus, redisBus } from './redis-bus.ts';

let server: TestPostgres;
let redis: TestRedis;

const postgres: LogSubject = {
  isDurable: true,
  async create(clock) {
    const schema = `s_${randomUUID().replaceAll('-', '')}`;
    const logs: PostgresStoreLog[] = [];
    const buses: RedisBus[] = [];
    return {
      async open() {
        const bus = redisBus({ url: redis.url, prefix: `${schema}:` });
        buses.push(bus);
        await bus.connected(10_000);
        const log = new PostgresStoreLog({
          url: server.url,
          schema,
          clock,
          commitIntervalMs: 2,
          bus,
        });
        logs.push(log);
        return log;
      },
      async remove() {
        await Promise.all(buses.map((bus) => bus.close()));
        await server.dropSchema(schema);
      },
      async whenIdle() {
        for (const log of logs) await log.quiet();
      },
    };
  },
};

/**
 * Each run needs hundreds of transactions. A thousand runs would take longer than all other tests.
 */
const numRuns = runs(60);

needsRedis(describeOnPostgres())('the Postgres log with the Redis bus', () => {
  beforeAll(async () => {
    [server, redis] = await Promise.all([startPostgres(), startRedis()]);
  });
  afterAll(async () => {
    await Promise.all([server?.remove(), redis?.stop()]);
  });

  for (const { name, run } of casesBehindLayer(postgres)) test(name, run);

  test('laws 1, 3, 4, 5 and 9: two logs behave like the reference in random runs', async () => {
    const seen = await modelRuns(postgres, { numRuns });
    expect(seen).toEqual(expect.arrayContaining(['append: done', 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])(
    'law 5: a reader that stops at any batch and resumes in another log ends with the same state, where %s',
    (_, isSettled) => resumeRuns(postgres, { isSettled, isSplit: true, numRuns }),
  );
});
