import { createAgent } from '@millrace/agent';
import { type Fact, noUsage, sessionId } from '@millrace/core';
import type { Log, SessionInfo } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import type { LoopAgent } from '../contract/served-agent.ts';
import { createTaskHarness, eventually } from '../testing/servers/task-harness.ts';
import { attemptStatistics } from './attempt-statistics.ts';
import { SessionAttemptsCache } from './session-attempts.ts';

type Step = readonly [time: number, fact: object | undefined, attempt?: number];

/** Creates a log with one session that has the given records. It counts the records that are read. */
function fakeLog(steps: readonly Step[], origin?: SessionInfo['origin']) {
  const reads: number[] = [];
  const records = steps.map(([time, fact, attempt = 1], index) => ({
    ...{ offset: index + 1, time, turn: 1, attempt, fact: fact as Fact | undefined },
  }));
  const log = {
    async read(_session: unknown, { from }: { readonly from: number }) {
      reads.push(from);
      return { records: records.slice(from), through: records.length };
    },
  } as unknown as Log;
  const info = { session: sessionId('s'), incarnation: 'i', through: records.length, origin };
  return { log, info: info as SessionInfo, reads };
}

const started = { type: 'response_started', itemId: 'i', provider: 'p', model: 'm' };
const finished = {
  type: 'response_finished',
  ...{ itemId: 'i', stop: { reason: 'stop' }, usage: { ...noUsage, output: 7 } },
};

test('an attempt has its start, the time to its first token, its duration and its usage', async () => {
  const { log, info, reads } = fakeLog([
    [1000, started],
    [1200, undefined],
    [1300, undefined],
    [1500, finished],
    [1900, undefined],
  ]);
  const cache = new SessionAttemptsCache(log);
  const { attempts, isWhole } = await cache.read(info);
  expect(isWhole).toBe(true);
  expect(attempts).toMatchObject([
    { startedAt: 1000, firstTokenMs: 200, durationMs: 500, isError: false, usage: { output: 7 } },
  ]);
  await cache.read(info);
  expect(reads).toEqual([0]);
});

test('superseded and retried attempts are errors, and an open attempt has no duration', async () => {
  const { log, info } = fakeLog([
    [0, started, 1],
    [10, { type: 'attempt_superseded', reason: 'overloaded' }, 1],
    [20, started, 2],
    [50, { type: 'retry_scheduled', error: {}, delayMs: 1 }, 2],
    [60, started, 3],
    [70, { type: 'turn_finished', stop: { reason: 'error' } }, 3],
    [80, started, 4],
  ]);
  const { attempts } = await new SessionAttemptsCache(log).read(info);
  expect(attempts.map(({ isError, durationMs }) => [isError, durationMs])).toEqual([
    [true, 10],
    [true, 30],
    [true, 10],
    [false, undefined],
  ]);
});

test('a fork does not count the attempts of its origin again', async () => {
  const origin = { session: sessionId('o'), through: 2 };
  const { log, info } = fakeLog(
    [
      [0, started],
      [1, finished],
      [2, started, 2],
    ],
    origin,
  );
  const { attempts } = await new SessionAttemptsCache(log).read(info);
  expect(attempts.map(({ startedAt }) => startedAt)).toEqual([2]);
});

test('a session with very many attempts keeps the newest, and says so', async () => {
  const steps = Array.from({ length: 600 }, (_, at): Step => [at, started, at + 1]);
  const { log, info } = fakeLog(steps);
  const { attempts, isWhole } = await new SessionAttemptsCache(log).read(info);
  expect([attempts.length, attempts[0]?.startedAt, isWhole]).toEqual([500, 100, false]);
});

const fails: ScriptEntry = {
  content: { parts: ['It'] },
  fault: { type: 'error', after: 0, error: 'auth' },
};

test('statistics of tasks by time, agent and model, with filters', async () => {
  const agentOf = (log: Log, name: string, script: readonly ScriptEntry[]): LoopAgent => ({
    ...{ type: 'loop', name },
    agent: createAgent({ log, provider: scriptedProvider(script), version: `${name} 2` }),
  });
  const harness = await createTaskHarness((log: Log): readonly LoopAgent[] => [
    agentOf(log, 'weather', ['Sunny.', 'Rainy.']),
    agentOf(log, 'broken', [fails]),
  ]);
  for (const name of ['weather', 'weather', 'broken']) {
    const { id } = await harness.newTask(name);
    await (await harness.send(name, id, 'Hello')).messages().catch(() => {});
    await eventually(async () => (await harness.log.info(sessionId(id)))?.hasWork === false);
  }
  const [now, hourMs] = [Date.now(), 3_600_000];
  const sources = { log: harness.log, tasks: harness.service.tasks, clock: { now: () => 0 } };
  const range = { from: now - hourMs, to: now + hourMs };
  const all = await attemptStatistics(range, sources);
  expect(all).toMatchObject({ is_whole: true, sessions: 3 });
  expect(
    all.groups.map(({ agent_name, attempts, errors }) => [agent_name, attempts, errors]),
  ).toEqual([
    ['weather', 2, 0],
    ['broken', 1, 1],
  ]);
  const sum = (key: 'attempts' | 'errors') =>
    all.buckets.reduce((total, bucket) => total + bucket[key], 0);
  expect([sum('attempts'), sum('errors')]).toEqual([3, 1]);
  expect(all.buckets.length).toBeLessThanOrEqual(61);
  const some = await attemptStatistics({ ...range, agentName: 'weather' }, sources);
  expect(some.groups).toMatchObject([{ agent_name: 'weather', attempts: 2 }]);
  expect(some.names).toHaveLength(2);
  const newest = await attemptStatistics({ ...range, version: 'broken 2' }, sources);
  expect(newest.groups).toMatchObject([{ agent_name: 'broken', agent_version: 'broken 2' }]);
  const before = await attemptStatistics({ from: 0, to: hourMs }, sources);
  expect(before).toMatchObject({ sessions: 0, groups: [] });
});
