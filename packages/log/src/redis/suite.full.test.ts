import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFull, runs } from '../../../core/src/testing/runs.ts';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { type LogSubject, requiredOutcomes } from '../suite/index.ts';
import { casesBehindLayer, modelRuns, resumeRuns } from '../testing/law-runs.ts';
import { describeWithRedis, startRedis, type TestRedis } from '../testing/start-redis.ts';
import { type RedisBus, redisBus } from './redis-bus.ts';

let redis: TestRedis;
let stores = 0;
const buses: RedisBus[] = [];

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  await Promise.all(buses.map((bus) => bus.close()));
  await redis?.stop();
});

/** Each log has its own bus. The buses of one store share a prefix. */
async function openBus(prefix: string): Promise<RedisBus> {
  const bus = redisBus({ url: redis.url, prefix });
  buses.push(bus);
  await bus.connected(10_000);
  return bus;
}

/** Closes the bus together with its log. */
function withBus(log: Log, bus: RedisBus): Log {
  const close = log.close.bind(log);
  log.close = async () => {
    await close();
    await bus.close();
  };
  return log;
}

const memory: LogSubject = {
  isDurable: false,
  async create(clock) {
    const prefix = `memory ${stores++}:`;
    return {
      open: async () => {
        const bus = await openBus(prefix);
        return withBus(memoryLog({ clock, bus }), bus);
      },
      remove: async () => {},
    };
  },
};

const sqlite: LogSubject = {
  isDurable: true,
  async create(clock) {
    const prefix = `sqlite ${stores++}:`;
    const folder = await mkdtemp(join(storeTmpdir(), 'millrace-bus-'));
    return {
      open: async () => {
        const bus = await openBus(prefix);
        return withBus(sqliteLog({ path: join(folder, 'log.sqlite'), clock, bus }), bus);
      },
      remove: () => rm(folder, { recursive: true }),
    };
  },
};

/** The full number of runs is done without a bus. Fewer runs are enough for the bus. */
const numRuns = runs(200);

describeWithRedis()('with the Redis bus', () => {
  for (const { name, run } of casesBehindLayer(memory)) test(`memory: ${name}`, run);
  for (const { name, run } of casesBehindLayer(sqlite)) test(`SQLite: ${name}`, run);

  test.each([
    ['memory', memory],
    ['SQLite', sqlite],
  ])('laws 1, 3, 4, 5 and 9, %s: two logs behave like the reference', async (_, subject) => {
    const seen = await modelRuns(subject, { numRuns });
    const required = isFull ? requiredOutcomes : ['append: done'];
    expect(seen).toEqual(expect.arrayContaining([...required]));
  });

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])(
    'law 5: a reader that stops at any batch and resumes ends with the same state, where %s',
    (_, isSettled) => resumeRuns(sqlite, { isSettled, isSplit: true, numRuns }),
  );
});
