import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SessionId, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { afterEach, describe, expect, test } from 'vitest';
import type { Agent } from '../contract/agent.ts';
import type { RunResult } from '../contract/run.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import { answer, pause, tool, untilTrue } from '../testing/test-agent.ts';
import { flushPendingWork, runToEnd, VirtualClock } from '../testing/virtual-time.ts';
import { createWorker, enqueue, type WorkerOptions, type WorkerSession } from './create-worker.ts';

const clock = new VirtualClock();
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await runToEnd(clock, one.close());
});

function agentOf(log: Log, script: readonly ScriptEntry[], options: Partial<AgentOptions> = {}) {
  return createAgent({ provider: scriptedProvider(script, { clock }), log, clock, ...options });
}

interface Finished extends WorkerSession {
  readonly result: RunResult;
}

function workerOf(log: Log, agents: readonly Agent[], options: Partial<WorkerOptions> = {}) {
  const finished: Finished[] = [];
  const problems: string[] = [];
  const worker = createWorker({
    ...{ log, agents, clock, random: () => 0.5 },
    onResult: (result, taken) => finished.push({ ...taken, result }),
    onDiagnostic: (problem) => problems.push(problem),
    ...options,
  });
  open.push(worker);
  const until = (count: number) => untilTrue(clock, () => finished.length >= count);
  return { worker, finished, problems, until };
}

const texts = (finished: readonly Finished[]) => finished.map(({ result }) => result.text);
const hello = (count: number) => Array.from({ length: count }, () => 'Hello.');

describe('a worker', () => {
  test('runs what is enqueued, with the agent that was named, once for each key', async () => {
    const log = memoryLog({ clock });
    const desk = agentOf(log, hello(2), { name: 'desk' });
    const shop = agentOf(log, ['Sold.'], { name: 'shop' });
    const { worker, finished, until } = workerOf(log, [desk, shop]);
    const first = await worker.enqueue('Hi', { agent: 'desk', key: 'a', session: 's1' });
    const again = await worker.enqueue('Hi', { agent: 'desk', key: 'a', session: 's1' });
    expect([first.isRepeat, again.isRepeat]).toEqual([false, true]);
    await until(1);
    // Another process enqueues without a worker. The next scan finds it.
    await enqueue(log, 'Sell', { agent: 'shop', session: 's2' });
    await until(2);
    await enqueue(log, 'Hi again', { agent: 'desk', session: 's1' });
    await until(3);
    expect(finished.map(({ session, agent }) => [session, agent])).toEqual([
      ['s1', 'desk'],
      ['s2', 'shop'],
      ['s1', 'desk'],
    ]);
    expect(texts(finished)).toEqual(['Hello.', 'Sold.', 'Hello.']);
    expect((await log.info('s1'))?.hasWork).toBe(false);
  });

  test('runs at most `concurrency` runs at once, and all of them', async () => {
    const log = memoryLog({ clock });
    let [running, most] = [0, 0];
    const slow = tool('slow', async () => {
      most = Math.max(most, ++running);
      await pause(clock, 500);
      running--;
      return 'done';
    });
    const reply: ScriptEntry = ({ items }) =>
      items.some(({ kind }) => kind === 'tool') ? 'Done.' : answer(call('c', 'slow', {}));
    const script = Array.from({ length: 14 }, () => reply);
    const desk = agentOf(log, script, { tools: [slow] });
    const { worker, finished, until } = workerOf(log, [desk], { concurrency: 3 });
    const ids = await Promise.all(Array.from({ length: 7 }, () => worker.enqueue('Go')));
    await until(7);
    expect(most).toBe(3);
    expect(new Set(finished.map(({ session }) => session))).toEqual(
      new Set(ids.map(({ session }) => session)),
    );
  });

  test('resumes what another process left, and leaves its own runs when it closes', async () => {
    const log = memoryLog({ clock });
    const started = Promise.withResolvers<void>();
    const look = tool(
      'look',
      (_input, { signal }) => {
        started.resolve();
        return pause(clock, 60_000, signal).then(() => 'seen');
      },
      { afterCrash: 'repeat' },
    );
    const provider = scriptedProvider([answer(call('c1', 'look', {})), 'Done.'], { clock });
    const first = workerOf(log, [agentOf(log, [], { provider, tools: [look] })]);
    const { session } = await first.worker.enqueue('Go');
    await started.promise;
    expect(first.worker.active).toEqual([session]);
    await runToEnd(clock, first.worker.close({ graceMs: 100 }));
    expect([first.finished, first.worker.active]).toEqual([[], []]);
    const quick = tool('look', () => 'seen', { afterCrash: 'repeat' });
    const second = workerOf(log, [agentOf(log, [], { provider, tools: [quick] })]);
    await second.until(1);
    expect(texts(second.finished)).toEqual(['Done.']);
  });

  test('closes gracefully: active runs end, nothing new starts', async () => {
    const log = memoryLog({ clock });
    const look = tool('look', () => pause(clock, 3000).then(() => 'seen'));
    const { worker, finished } = workerOf(log, [
      agentOf(log, [answer(call('c1', 'look', {})), 'Done.'], { tools: [look] }),
    ]);
    await worker.enqueue('Go', { session: 's1' });
    await untilTrue(clock, () => worker.active.length === 1);
    const closed = worker.close();
    await worker.enqueue('Wait', { session: 's2' });
    await runToEnd(clock, closed);
    expect(texts(finished)).toEqual(['Done.']);
    expect((await log.info('s2'))?.hasWork).toBe(true);
  });

  test('parks at a question and continues after the answer, without a busy loop', async () => {
    const log = memoryLog({ clock });
    const pay = tool('pay', () => 'paid');
    const script = [answer(call('c1', 'pay', {})), 'Done.', 'And more.'];
    const desk = agentOf(log, script, {
      ...{ tools: [pay], approve: () => 'ask', whileAsking: 'park' },
    });
    const { worker, finished } = workerOf(log, [desk]);
    const other = workerOf(log, [desk]);
    const { session } = await worker.enqueue('Pay');
    const ended = () => finished.length + other.finished.length;
    await untilTrue(clock, () => ended() === 1);
    // A message cannot be answered before the call is.
    await worker.enqueue('And then?', { session });
    const { through } = (await log.info(session)) ?? {};
    for (let round = 0; round < 20; round++) {
      clock.advance(1000);
      await flushPendingWork();
    }
    expect((await log.info(session))?.through).toBe(through);
    await submitCommand(log, session, { type: 'approve', toolCallId: 'c1' });
    await untilTrue(clock, () => ended() === 2);
    const all = [...finished, ...other.finished];
    expect(all.map(({ result }) => result.reason).toSorted()).toEqual(['parked', 'stop']);
    expect(texts(all)).toContain('And more.');
  });

  test('leaves sessions alone that were not enqueued, unless agentOf names an agent', async () => {
    const log = memoryLog({ clock });
    await submitCommand(log, 'chat-1', { type: 'message', input: 'Hi' });
    await enqueue(log, 'Hi', { agent: 'elsewhere', session: 'chat-2' });
    const desk = agentOf(log, hello(2), { name: 'desk' });
    const idle = workerOf(log, [desk]);
    for (let round = 0; round < 5; round++) {
      clock.advance(1000);
      await flushPendingWork();
    }
    expect(idle.finished).toEqual([]);
    const { finished, until } = workerOf(log, [desk], {
      agentOf: (id) => (id.startsWith('chat-') ? 'desk' : undefined),
    });
    await until(1);
    expect(finished.map(({ session }) => session)).toEqual(['chat-1']);
  });

  test('passes a context to each run, and tries again later if that fails', async () => {
    const log = memoryLog({ clock });
    const seen: unknown[] = [];
    const desk = agentOf(log, hello(1), {
      instructions: (_items, { context }) => void seen.push(context),
    });
    const times: number[] = [];
    const { worker, problems, until } = workerOf(log, [desk], {
      context: ({ session, agent }) => {
        times.push(clock.now());
        if (times.length < 4) throw new Error('no connection');
        return { session, agent };
      },
    });
    await worker.enqueue('Hi', { session: 's1' });
    await until(1);
    expect(seen).toEqual([{ session: 's1', agent: 'agent' }]);
    expect(problems).toEqual(
      Array.from({ length: 3 }, () => 'Session s1: cannot be run: no connection'),
    );
    const waits = times.slice(1).map((time, at) => time - (times[at] ?? 0));
    // 0.75 of 1, 2 and 4 seconds, and at most one interval of the scan.
    for (const [at, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(750 * 2 ** at);
      expect(wait).toBeLessThanOrEqual(750 * 2 ** at + 1100);
    }
  });

  test('survives a log that fails, and reports it', async () => {
    const inner = memoryLog({ clock });
    let isDown = true;
    const log: Log = {
      ...inner,
      open: (session, how) => inner.open(session, how),
      read: (session, how) => inner.read(session, how),
      follow: (session, how) => inner.follow(session, how),
      submit: (session, command, key) => inner.submit(session, command, key),
      info: (session) => inner.info(session),
      blobs: inner.blobs,
      list: (filter) => (isDown ? Promise.reject(new Error('down')) : inner.list(filter)),
    };
    const { worker, problems, until, finished } = workerOf(log, [agentOf(log, hello(1))]);
    await worker.enqueue('Hi');
    await untilTrue(clock, () => problems.length >= 3);
    isDown = false;
    await until(1);
    expect(problems[0]).toBe('Cannot scan the log: down');
    expect(texts(finished)).toEqual(['Hello.']);
  });
});

test('two workers share a SQLite log: each input is answered once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'worker-'));
  const path = join(folder, 'log.db');
  const logs = [sqliteLog({ path }), sqliteLog({ path })];
  const done: SessionId[] = [];
  const workers = logs.map((log) => {
    const agent = createAgent({ provider: scriptedProvider(hello(20)), log });
    const onResult = (_result: RunResult, { session }: WorkerSession) => void done.push(session);
    return createWorker({ log, agents: [agent], onResult, pollMs: 5, baseDelayMs: 5 });
  });
  try {
    const all = Array.from({ length: 10 }, (_, at) => sessionId(`s${at}`));
    for (const session of all) await workers[0]?.enqueue('Hi', { session });
    const waiting = async () => (await logs[0]?.list({ isWaiting: true }))?.length ?? 0;
    while (done.length < all.length || (await waiting()) > 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(done.toSorted()).toEqual(all);
  } finally {
    await Promise.all(workers.map((worker) => worker.close()));
    await Promise.all(logs.map((log) => log.close()));
    rmSync(folder, { recursive: true });
  }
});

test('wrong options are refused', async () => {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider([]), log, name: 'desk' });
  const create = (options: object) => () => createWorker({ log, agents: [agent], ...options });
  expect(create({ agents: [] })).toThrow('pass at least one agent');
  expect(create({ agents: [agent, agent] })).toThrow('each agent needs its own name');
  expect(create({ log: memoryLog() })).toThrow('it has another log');
  expect(create({ concurrency: 0 })).toThrow('concurrency 0');
  expect(create({ pollMS: 5 })).toThrow('pollMs');
  const worker = createWorker({ log, agents: [agent] });
  open.push(worker);
  await expect(worker.enqueue('Hi', { agent: 'dest' })).rejects.toThrow('Did you mean desk?');
  await expect(enqueue(log, 'Hi', {} as never)).rejects.toThrow('pass the name of the agent');
  await expect(enqueue(log, 5 as never, { agent: 'desk' })).rejects.toThrow();
});
