import { type SessionId, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import { answer, tool, untilTrue } from '../testing/test-agent.ts';
import { flushPendingWork, runToEnd, VirtualClock } from '../testing/virtual-time.ts';
import { createWorker, enqueue, type WorkerOptions } from './create-worker.ts';

// Two agents of one worker get inputs in one session. The agent A asks before it pays, and the agent B does not.

const session: SessionId = sessionId('s');

function twoAgents() {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const paid: string[] = [];
  const runs: string[] = [];
  const agentOf = (
    name: string,
    script: readonly ScriptEntry[],
    more: Partial<AgentOptions> = {},
  ) => {
    const provider = scriptedProvider(script, { clock });
    const pay = tool('pay', () => void paid.push(name));
    return createAgent({ name, log, clock, provider, tools: [pay], ...more });
  };
  const workerOf = (agents: WorkerOptions['agents'], more: Partial<WorkerOptions> = {}) => {
    const worker = createWorker({
      ...{ log, agents, clock, random: () => 0.5, ...more },
      onResult: ({ reason, text }, { agent }) => runs.push(`${agent}: ${text || reason}`),
    });
    onTestFinished(() => runToEnd(clock, worker.close()));
    return worker;
  };
  const a = agentOf('A', [answer(call('c1', 'pay', {})), 'A is done.', 'A again.'], {
    ...{ approve: () => 'ask', whileAsking: 'park' },
  });
  const b = agentOf('B', ['B is done.', 'B again.', 'B?']);
  const pause = async () => {
    for (let round = 0; round < 20; round++) {
      await flushPendingWork();
      clock.advance(1000);
    }
  };
  const until = (count: number) => untilTrue(clock, () => runs.length >= count);
  return { log, clock, a, b, agentOf, workerOf, paid, runs, pause, until };
}

test('18.1292: attack: a worker answers the question of one agent with another agent', async () => {
  const { log, a, b, workerOf, paid, runs, pause, until } = twoAgents();
  workerOf([a, b]);
  await enqueue(log, 'Pay', { agent: 'A', session });
  await until(1);
  await enqueue(log, 'Hello', { agent: 'B', session });
  await pause();
  expect(runs).toEqual(['A: parked']);
  await submitCommand(log, session, { type: 'approve', toolCallId: 'c1' });
  await until(3);
  expect([paid, runs]).toEqual([['A'], ['A: parked', 'A: A is done.', 'B: B is done.']]);
  expect((await log.info(session))?.hasWork).toBe(false);
});

test('18.1293: attack: an agent answers inputs that name another agent', async () => {
  const { log, agentOf, workerOf, runs, until } = twoAgents();
  const agents = ['A', 'B'].map((name) => agentOf(name, ['one', 'two', 'three']));
  for (const agent of ['A', 'B', 'B', 'A']) await enqueue(log, 'Hello', { agent, session });
  await submitCommand(log, session, { type: 'message', input: 'For anyone' });
  workerOf(agents);
  await until(3);
  // Each run answers its inputs one by one, and the result has the last answer.
  expect(runs).toEqual(['A: two', 'B: two', 'A: three']);
});

test('18.1294: attack: a worker runs an input that was not enqueued for its agent, after another worker was faster', async () => {
  const { log, clock, a, b, workerOf, runs, until, pause } = twoAgents();
  const slow = Promise.withResolvers<void>();
  await enqueue(log, 'Hello', { agent: 'B', session });
  // This worker has found the input of B, and creates the context of its run.
  workerOf([b], { context: () => slow.promise });
  await pause();
  workerOf([b]);
  await until(1);
  await enqueue(log, 'Pay', { agent: 'A', session });
  slow.resolve();
  await pause();
  expect(runs).toEqual(['B: B is done.']);
  workerOf([a]);
  await untilTrue(clock, () => runs.length === 2);
  expect(runs).toEqual(['B: B is done.', 'A: parked']);
});

test('18.1295: attack: a worker answers the question of a run that a program started, with another agent', async () => {
  const { log, clock, a, b, workerOf, paid, runs, pause, until } = twoAgents();
  expect((await runToEnd(clock, a.run('Pay', { session }).result)).reason).toBe('parked');
  await enqueue(log, 'Hello', { agent: 'B', session });
  workerOf([a, b]);
  await submitCommand(log, session, { type: 'approve', toolCallId: 'c1' });
  await pause();
  expect([paid, runs]).toEqual([[], []]);
  await runToEnd(clock, a.resume(session).result);
  await until(1);
  expect([paid, runs]).toEqual([['A'], ['B: B is done.']]);
});
