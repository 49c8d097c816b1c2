import { randomUUID } from 'node:crypto';
import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { ServerLog } from '../postgres/postgres-log.ts';
import {
  checkModel,
  checkResume,
  type LogSubject,
  logCases,
  scriptOf,
  TestClock,
} from '../suite/index.ts';
import { splitLog } from '../testing/split-log.ts';
import { describeOnPostgres, startPostgres, type TestPostgres } from '../testing/start-postgres.ts';
import { needsRedis, startRedis, type TestRedis } from '../testing/start-redis.ts';
import { type RedisBus, redisBus } from './redis-bus.ts';

let server: TestPostgres;
let redis: TestRedis;

const postgres: LogSubject = {
  isDurable: true,
  async create(clock) {
    const schema = `s_${randomUUID().replaceAll('-', '')}`;
    const logs: ServerLog[] = [];
    const buses: RedisBus[] = [];
    return {
      async open() {
        const bus = redisBus({ url: redis.url, prefix: `${schema}:` });
        buses.push(bus);
        await bus.connected(10_000);
        const log = new ServerLog({ url: server.url, schema, clock, commitIntervalMs: 2, bus });
        logs.push(log);
        return log;
      },
      async remove() {
        await Promise.all(buses.map((bus) => bus.close()));
        await server.dropSchema(schema);
      },
      async quiet() {
        for (const log of logs) await log.quiet();
      },
    };
  },
};

const number = fc.nat(0xffff);
const step = fc.tuple(number, number, number);
const steps = fc.array(step, { minLength: 10, maxLength: 50, size: 'max' });
const words = fc.array(number, { minLength: 50, maxLength: 300, size: 'max' });

/** Each run is hundreds of transactions on a server; a thousand would take longer than all other tests. */
const numRuns = Number(process.env['MILLRACE_POSTGRES_RUNS'] ?? 60);

needsRedis(describeOnPostgres())('the Postgres log with the Redis bus', () => {
  beforeAll(async () => {
    [server, redis] = await Promise.all([startPostgres(), startRedis()]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all([server?.remove(), redis?.stop()]);
  });

  for (const { name, run } of logCases(postgres)) test(name, run);

  test('laws 1, 3, 4, 5 and 9: is what the reference is, whatever is done to it, through two logs', async () => {
    const seen = new Set<string>();
    const clock = new TestClock();
    const store = await postgres.create(clock);
    const first = await store.open();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(steps, words, async (run, said) => {
        const script = scriptOf(randomLog(said));
        const options = { store, isDurable: true, clock, name: `run ${runs++}`, script };
        await checkModel(options, run, (what) => seen.add(what));
      }),
      { endOnFailure: true, numRuns },
    );
    await first.close();
    await store.remove();
    expect([...seen]).toEqual(expect.arrayContaining(['append: done', 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])(
    'law 5: who is cut at any batch and resumes elsewhere has the same, where %s',
    async (_, isSettled) => {
      const store = await postgres.create(new TestClock());
      const [writer, reader] = [await store.open(), await store.open()];
      const log = splitLog(writer, reader);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(words, fc.array(number, { minLength: 1 }), async (said, numbers) => {
          const session = sessionId(`run ${runs++}`);
          const script = scriptOf(randomLog(said));
          await checkResume({ log, session, script, numbers, isSettled });
          await log.delete(session);
        }),
        { endOnFailure: true, numRuns },
      );
      await Promise.all([writer.close(), reader.close()]);
      await store.remove();
    },
  );
});
