import { countingIds, type LogRecord, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { Run } from '../contract/run.ts';
import { createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { type Scenario, scenarioObserver, scenarios, scenarioTools } from '../testing/scenarios.ts';
import { resumeAt, runSchedule, schedules, session } from '../testing/schedules.ts';
import { runToEnd, VirtualClock } from '../testing/virtual-time.ts';

async function record(scenario: Scenario) {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  let run: Run | undefined;
  const act = scenarioObserver(scenario, () => run as Run);
  const provider = scriptedProvider(scenario.script, { clock, pieces: 'token', pauseMs: 5 });
  const tools = scenarioTools('/dev/null');
  const common = { log, clock, ids: countingIds(), tools, version: 'recorded' };
  const agent = createAgent({ ...scenario.options, ...common, provider, observers: [act] });
  run = agent.run('Begin', { session });
  await runToEnd(clock, run.result);
  const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
  return { log, records };
}

/** The same agent, built from parts that throw when they are used. */
function brokenAgent(scenario: Scenario, log: ReturnType<typeof memoryLog>) {
  const fail = () => {
    throw new Error('it was run');
  };
  const tools = scenarioTools('/dev/null').map((tool) => ({ ...tool, execute: fail }));
  const provider = { id: 'none', model: 'none', stream: fail, complete: fail };
  const broken = { approve: fail, instructions: fail, observers: [fail], random: fail };
  return createAgent({ ...scenario.options, ...broken, provider, tools, log, version: 'newer' });
}

describe.each(Object.entries(scenarios))('the scenario %s', (_name, scenario) => {
  test('is replayed to the same log, and nothing is executed', async () => {
    const { log, records } = await record(scenario);
    const told: LogRecord[] = [];
    const observers = [(one: LogRecord) => void told.push(one)];
    const replayed = await brokenAgent(scenario, log).replay(session, { observers });
    expect(replayed.divergence).toBeUndefined();
    expect(told).toEqual(records);
    expect(transcript(replayed.state)).toEqual(transcript(await snapshot(log, session)));
  });
});

test('random runs are replayed to the same log', async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (plan) => {
      const { agent, records } = await runSchedule(plan);
      const told: LogRecord[] = [];
      const { divergence } = await agent.replay(session, {
        observers: [(one) => void told.push(one)],
      });
      expect(divergence).toBeUndefined();
      expect(told).toEqual(records);
    }),
    { numRuns: runs(300), endOnFailure: true },
  );
});

test('a fork replays an answer that had no effect in its origin', async () => {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const provider = scriptedProvider(['One. Two. Three.'], { clock, pieces: 'token', pauseMs: 5 });
  const agent = createAgent({ log, clock, provider, ids: countingIds() });
  const run = agent.run('Begin', { session });
  const answer = { type: 'approve', toolCallId: 'none', by: 'a person' };
  clock.after(20, () => void log.submit(session, answer, 'late'));
  await runToEnd(clock, run.result);
  const into = sessionId('fork');
  const { through } = await snapshot(log, session);
  await log.fork(session, { into, through });
  expect((await agent.replay(into)).divergence).toBeUndefined();
});

test('sessions that were cut and resumed are replayed to the same log', async () => {
  await fc.assert(
    fc.asyncProperty(
      schedules,
      fc.nat(),
      fc.constantFrom('keep', 'retry'),
      async (plan, at, onInterrupted) => {
        const { agent, all, into } = await resumeAt(plan, at, onInterrupted, 'batch');
        const told: LogRecord[] = [];
        const observers = [(one: LogRecord) => void told.push(one)];
        const { divergence } = await agent.replay(into, { observers });
        expect(divergence).toBeUndefined();
        // Records that others wrote after a driver's death were not observed.
        const ofDrivers = (records: readonly LogRecord[]) =>
          records.filter(({ producer }) => producer.startsWith('driver'));
        expect(ofDrivers(told)).toEqual(ofDrivers(all));
      },
    ),
    { numRuns: runs(300), endOnFailure: true },
  );
});

test('a message that was queued between two runs is replayed', async () => {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(Array(6).fill('Well.')), log });
  for (const when of ['steer', 'follow_up'] as const) {
    const session = sessionId(when);
    await agent.run('Go', { session }).result;
    await submitCommand(log, session, { type: 'message', when, input: 'Queued' });
    await agent.run('More', { session }).result;
    expect((await agent.replay(session)).divergence).toBeUndefined();
  }
});

test('the work of a replay for a record does not grow with the runs that follow', async () => {
  /** Returns how often a replay reads the content of the first record. */
  const readsWith = async (count: number) => {
    const log = memoryLog();
    const provider = scriptedProvider(Array(count).fill('Well.'));
    const id = sessionId('long');
    const agent = createAgent({ provider, log });
    for (let run = 0; run < count; run++) await agent.run('Go', { session: id }).result;
    let reads = 0;
    const counting = (record: LogRecord) =>
      Object.defineProperty({ ...record }, 'fact', {
        get: () => {
          reads++;
          return record.fact;
        },
      });
    const counted = new Proxy(log, {
      get(target, name) {
        if (name === 'read')
          return async (...given: Parameters<typeof log.read>) => {
            const batch = await target.read(...given);
            const [first, ...others] = batch.records;
            const records = first === undefined ? [] : [counting(first), ...others];
            return { ...batch, records };
          };
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { divergence } = await createAgent({ provider, log: counted }).replay(id);
    expect(divergence).toBeUndefined();
    return reads;
  };
  const few = await readsWith(3);
  expect(few).toBeGreaterThan(0);
  expect(await readsWith(12)).toBe(few);
});
