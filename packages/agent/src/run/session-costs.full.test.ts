import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attemptOf, sessionId, toArray, transcript } from '@millrace/core';
import { memoryLog, sessionStates, snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { countingLog } from '../../../log/src/testing/counting-log.ts';
import { createAgent } from '../create-agent.ts';
import { compaction, expectConstantCosts, wordModel } from '../testing/message-cost-law.ts';
import { createWorker, enqueue } from '../worker/create-worker.ts';

const answers = (text: string, times: number) =>
  scriptedProvider(Array.from({ length: times }, () => text));

describe('21.F law 18: the cost of a message', () => {
  test('in records does not depend on the length of the session', async () => {
    const { log, take } = countingLog(memoryLog());
    const agent = createAgent({ log, provider: answers('Hello there, how are you?', 60) });
    const costs: number[] = [];
    for (let run = 1; run <= 60; run++) {
      take();
      expect(await agent.run('Hi', { session: 's' }).text()).toContain('Hello');
      costs.push(take().records);
    }
    expect(costs[59]).toBe(costs[4]);
  });

  test('in a process that has nothing in memory is the same, on SQLite', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-long-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'log.db');
    await expectConstantCosts(async () => sqliteLog({ path, commitIntervalMs: 0 }));
  });

  test('that a worker takes in a process that has nothing in memory is the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-long-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const open = () => sqliteLog({ path: join(folder, 'log.db'), commitIntervalMs: 0 });
    const extend = async (messages: number) => {
      const log = open();
      const states = sessionStates(log, { recordsPerSnapshot: 100 });
      const agent = createAgent({ log, provider: wordModel, compaction });
      for (let message = 0; message < messages; message++)
        await agent.run('How is the weather?', { session: 'long' }).result;
      await states.saved();
      await log.close();
    };
    /** Counts what a new process reads until its worker has answered a message. */
    const costOfWorker = async () => {
      const stored = open();
      const { log, take } = countingLog(stored);
      const states = sessionStates(log, { recordsPerSnapshot: 100 });
      const agent = createAgent({ log, provider: wordModel, compaction, name: 'words' });
      await enqueue(log, 'How is the weather?', { agent: 'words', session: 'long' });
      take();
      const answered = Promise.withResolvers<unknown>();
      const worker = createWorker({ log, agents: [agent], onResult: answered.resolve });
      await answered.promise;
      await worker.close();
      await states.saved();
      const cost = take();
      await stored.close();
      return cost;
    };
    await extend(20);
    const short = await costOfWorker();
    await extend(140);
    const long = await costOfWorker();
    expect(long.records).toBeLessThanOrEqual(1.25 * short.records + 200);
    expect(long.bytesRead).toBeLessThanOrEqual(1.25 * short.bytesRead + 20_000);
  });

  test('of the kept states is limited, and nothing changes if they are dropped', async () => {
    const log = memoryLog();
    const states = sessionStates(log, { maxBytes: 20_000 });
    const agent = createAgent({ log, provider: answers('word '.repeat(200), 40) });
    for (let run = 0; run < 20; run++) await agent.run('Hi', { session: `s${run % 4}` }).text();
    expect(states.bytes).toBeLessThanOrEqual(20_000);
    const before = transcript(await snapshot(log, 's0'));
    for (const session of ['s0', 's1', 's2', 's3']) states.forget(session);
    expect(transcript(await snapshot(log, 's0'))).toEqual(before);
    await agent.run('Hi', { session: 's0' }).text();
    expect(transcript(await snapshot(log, 's0'))).toHaveLength(before.length + 2);
  });
});

test('21.F: a kept state without old items is read again if an old item was edited', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-long-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const open = () => sqliteLog({ path: join(folder, 'log.db'), commitIntervalMs: 0 });
  const [log, other] = [open(), open()];
  onTestFinished(async () => void (await Promise.all([log.close(), other.close()])));
  const states = sessionStates(log, { recordsPerSnapshot: 100 });
  const agent = createAgent({ log, provider: wordModel, compaction });
  const say = () => agent.run('How is the weather?', { session: 's' }).result;
  for (let run = 0; run < 60; run++) {
    await say();
    await states.saved();
  }
  // Another process edits the first message.
  const { items, through } = await snapshot(other, 's');
  const partId = toArray(items)[0]?.parts[0]?.id ?? expect.fail();
  const driver = await other.open(sessionId('s'), { from: through });
  const delta = { type: 'retract_part', partId, reason: 'edited' } as const;
  await driver.append([{ ...attemptOf(partId), delta }]);
  await driver.release();
  expect((await say()).stop.reason).toBe('stop');
});

test('a session whose state is too large is refused, and others work', async () => {
  const log = memoryLog();
  const agent = createAgent({ log, provider: answers('word '.repeat(400), 10) });
  for (let run = 0; run < 4; run++) await agent.run('Hi', { session: 'large' }).text();
  const states = sessionStates(log, { maxSessionBytes: 6000 });
  states.forget('large');
  await expect(snapshot(log, 'large')).rejects.toMatchObject({ code: 'too_large' });
  expect(await agent.run('Hi', { session: 'small' }).text()).toContain('word');
});

test('a redaction between two runs also empties what a kept state repeats', async () => {
  const log = memoryLog();
  const requests: string[] = [];
  const provider = answers('Noted.', 3);
  const watched = {
    ...provider,
    stream: (...args: Parameters<typeof provider.stream>) => {
      requests.push(JSON.stringify(args[0].items));
      return provider.stream(...args);
    },
  };
  const agent = createAgent({ log, provider: watched });
  await agent.run('my secret is 4711', { session: 's' }).text();
  const [item] = transcript(await snapshot(log, 's'));
  await log.redact('s', item?.id ?? '');
  await agent.run('and now?', { session: 's' }).text();
  expect(requests[0]).toContain('4711');
  expect(requests[1]).not.toContain('4711');
});

test('a session that was deleted and created again starts empty', async () => {
  const log = memoryLog({ clock: { now: () => 0, after: () => () => {} } });
  const agent = createAgent({ log, provider: answers('Hi.', 3) });
  await agent.run('one', { session: 's' }).text();
  await agent.run('two', { session: 's' }).text();
  await log.delete('s');
  await agent.run('three', { session: 's' }).text();
  expect(transcript(await snapshot(log, 's'))).toHaveLength(2);
});
