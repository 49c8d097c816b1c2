import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import {
  checkModel,
  checkResume,
  type LogSubject,
  landmarks,
  logCases,
  scriptOf,
  TestClock,
} from '../suite/index.ts';
import { splitLog } from '../testing/split-log.ts';
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

/** Each log has its own bus; those of one store share a prefix. */
async function openBus(prefix: string): Promise<RedisBus> {
  const bus = redisBus({ url: redis.url, prefix });
  buses.push(bus);
  await bus.connected(10_000);
  return bus;
}

/** A log's bus goes with it. */
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
    const folder = await mkdtemp(join(tmpdir(), 'millrace-bus-'));
    return {
      open: async () => {
        const bus = await openBus(prefix);
        return withBus(sqliteLog({ path: join(folder, 'log.sqlite'), clock, bus }), bus);
      },
      remove: () => rm(folder, { recursive: true }),
    };
  },
};

/** The thousand of the laws are held without a bus; what it adds is seen in fewer. */
const numRuns = 200;
const number = fc.nat(0xffff);
const step = fc.tuple(number, number, number);
const steps = fc.array(step, { minLength: 10, maxLength: 50, size: 'max' });
const words = fc.array(number, { minLength: 50, maxLength: 300, size: 'max' });

describeWithRedis()('with the Redis bus', () => {
  for (const { name, run } of logCases(memory)) test(`memory: ${name}`, run);
  for (const { name, run } of logCases(sqlite)) test(`SQLite: ${name}`, run);

  test.each([
    ['memory', memory],
    ['SQLite', sqlite],
  ])(
    'laws 1, 3, 4, 5 and 9, %s: is what the reference is, through two logs',
    async (_, subject) => {
      const { isDurable } = subject;
      const seen = new Set<string>();
      const clock = new TestClock();
      const store = await subject.create(clock);
      const first = isDurable ? await store.open() : undefined;
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(steps, words, async (run, said) => {
          const script = scriptOf(randomLog(said));
          const options = { store, isDurable, clock, name: `run ${runs++}`, script };
          await checkModel(options, run, (what) => seen.add(what));
        }),
        { endOnFailure: true, numRuns },
      );
      await first?.close();
      await store.remove();
      expect([...seen]).toEqual(expect.arrayContaining([...landmarks]));
    },
  );

  test.each([
    ['deltas are kept', false],
    ['turns are settled', true],
  ])('law 5: who is cut at any batch and resumes has the same, where %s', async (_, isSettled) => {
    const store = await sqlite.create(new TestClock());
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
  });
});
