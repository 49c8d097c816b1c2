import { mkdtempSync, rmSync, watch } from 'node:fs';
import { join } from 'node:path';
import { type Batch, type DraftRecord, sessionId } from '@millrace/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { fewOf } from '../../../core/src/testing/runs.ts';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import { type RemoteLog, type RemoteOptions, startRemoteLog } from '../testing/remote-log.ts';
import { startProcess } from '../testing/start-process.ts';
import { sqliteLog } from './sqlite-log.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(storeTmpdir(), 'processes-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

let path: string;
let count = 0;
let started: RemoteLog[];
beforeEach(() => {
  path = join(folder, `${++count}.db`);
  started = [];
});
afterEach(async () => {
  for (const log of started) await log[Symbol.asyncDispose]();
});

/** Starts another process with the test's file open. */
async function start(options: RemoteOptions = {}): Promise<RemoteLog> {
  const log = await startRemoteLog(path, options);
  started.push(log);
  return log;
}

/** A record that can be recognized by its text. */
const note = (to: string, turn = 0, attempt = 0): DraftRecord => ({
  turn,
  attempt,
  fact: { type: 'handed_off', to },
});

const notesOf = ({ records }: Batch): readonly string[] =>
  records.flatMap(({ fact }) => (fact?.type === 'handed_off' ? [fact.to] : []));

async function collect(batches: AsyncIterable<Batch>): Promise<readonly Batch[]> {
  const all: Batch[] = [];
  for await (const batch of batches) all.push(batch);
  return all;
}

/** The texts that a follower there receives, up to this many. */
async function hear(log: RemoteLog, howMany: number): Promise<readonly string[]> {
  const notes: string[] = [];
  while (notes.length < howMany) notes.push(...notesOf(await log.nextBatch()));
  return notes;
}

describe('one file that several processes open concurrently', () => {
  test('is created by the first process and opens for all', async () => {
    const logs = await Promise.all(Array.from({ length: 6 }, () => start()));
    const messages = await Promise.all(
      logs.map((log, index) => log.call('submit', 's', { n: index }, `key ${index}`)),
    );
    expect(messages.map(({ offset }) => offset).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('opens even if its creator was killed at any write', async () => {
    const program = new URL('../testing/programs/log-process.ts', import.meta.url);
    const all = Array.from({ length: 12 }, (_, index) => index + 1);
    for (const writes of fewOf(all, 4)) {
      const own = mkdtempSync(join(folder, 'made-'));
      const args = [join(own, 'log.db')];
      let seen = 0;
      const watcher = watch(own, () => {
        if (++seen === writes) child.kill('SIGKILL');
      });
      const onTold = () => child.kill('SIGKILL');
      const child = startProcess(program, { args, onMessage: onTold });
      await child.exit;
      watcher.close();
      const log = sqliteLog({ path: join(own, 'log.db') });
      expect(await log.submit(sessionId('s'), {}, 'k')).toEqual({ offset: 1, isRepeat: false });
      await log.close();
    }
  });

  test('a session that was deleted and created again is the new one for all processes', async () => {
    const [here, there] = await Promise.all([start(), start()]);
    await here.call('submit', 'other', {}, 'a');
    await here.call('submit', 's', { old: true }, 'a');
    await there.call('read', 's', 0);
    await here.call('delete', 's');
    // SQLite reuses the numbers of deleted rows.
    await here.call('submit', 'third', { third: true }, 'a');
    await here.call('submit', 's', { new: true }, 'b');
    expect(await there.call('submit', 's', { newer: true }, 'c')).toEqual({
      offset: 2,
      isRepeat: false,
    });
    for (const log of [here, there]) {
      expect(await log.call('read', 's', 0)).toMatch(/"new":true.*"newer":true/);
      expect(await log.call('read', 'third', 0)).not.toContain('newer');
    }
  });
});

describe('several processes that open one session', () => {
  test('one gets the lease, and the others get an error with the holder and the epoch', async () => {
    const logs = await Promise.all(Array.from({ length: 4 }, () => start()));
    for (let round = 0; round < 25; round++) {
      const tries = logs.map(({ pid, call }) =>
        call('open', `s${round}`, { holder: `process ${pid}` }),
      );
      const results = await Promise.allSettled(tries);
      const winners = logs.filter((_, index) => results[index]?.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      const holder = `process ${winners[0]?.pid}`;
      const [epoch] = results.flatMap((one) => (one.status === 'fulfilled' ? one.value.epoch : []));
      const errors = results.flatMap((result) =>
        result.status === 'rejected' ? [result.reason] : [],
      );
      for (const error of errors) {
        expect(error).toMatchObject({ code: 'held', place: { holder, epoch } });
        expect(error.message).toContain(`${holder} drives it, epoch ${epoch}`);
      }
      expect(errors).toHaveLength(3);
    }
  });

  test('a released lease goes to the next driver', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const { driver } = await first.call('open', 's', {});
    await first.call('release', driver);
    expect(await second.call('open', 's', {})).toMatchObject({ epoch: 2 });
  });

  test('a closed log returns its leases while its process lives', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    await first.call('open', 's', {});
    await first.call('close');
    expect(await second.call('open', 's', {})).toMatchObject({ epoch: 2 });
  });

  test.each([
    ['for a while', 60_000],
    ['without end', Number.POSITIVE_INFINITY],
  ])('a process killed while it held the lease %s is replaced immediately', async (_, leaseMs) => {
    const [first, second] = await Promise.all([start(), start()]);
    const { driver } = await first.call('open', 's', { holder: 'first', leaseMs });
    await first.append(driver, [note('before')]);
    await expect(second.call('open', 's', {})).rejects.toMatchObject({ code: 'held' });
    first.kill('SIGKILL');
    await first.exit;
    const next = await second.call('open', 's', { holder: 'second' });
    expect(next.epoch).toBe(2);
    const batch = await second.append(next.driver, [note('after')]);
    expect(notesOf(batch)).toEqual(['before', 'after']);
  });

  test('the session of a killed process is listed as waiting, even if the lease has not expired', async () => {
    const first = await start();
    const { driver } = await first.call('open', 's', { leaseMs: 60_000 });
    await first.append(driver, [{ turn: 1, attempt: 0, fact: { type: 'turn_started' } }]);
    const log = sqliteLog({ path });
    expect(await log.list({ isWaiting: true })).toEqual([]);
    first.kill('SIGKILL');
    await first.exit;
    expect(await log.list({ isWaiting: true })).toMatchObject([{ session: 's', hasWork: true }]);
    await log.close();
  });

  test('a paused process is replaced when its lease expires, and is fenced when it continues', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const { driver } = await first.call('open', 's', { holder: 'first', leaseMs: 300 });
    await first.append(driver, [note('before')]);
    await expect(second.call('open', 's', {})).rejects.toMatchObject({ code: 'held' });
    first.kill('SIGSTOP');
    const next = await openWhenFree(second, 's');
    expect(next.epoch).toBe(2);
    await second.append(next.driver, [note('instead')]);
    const late = first.append(driver, [note('too late')]);
    const lost = first.nextLoss();
    first.kill('SIGCONT');
    await expect(late).rejects.toMatchObject({ code: 'fenced' });
    expect(await lost).toMatchObject({ code: 'fenced', place: { session: 's' } });
    expect(notesOf(await second.append(next.driver, [note('after')]))).toEqual(['after']);
    expect(await second.call('read', 's', 0)).not.toContain('too late');
  });

  test('a process that renews its lease keeps it while it lives', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    // Long enough for a busy machine to renew the lease in time.
    const { driver } = await first.call('open', 's', { leaseMs: 2000 });
    const begun = await first.call('info', 's');
    // The lease is renewed without an append.
    for (;;) {
      const now = await second.call('info', 's');
      if (Number(now?.lease?.expiresAt) > Number(begun?.lease?.expiresAt) + 1000) break;
      await expect(second.call('open', 's', {})).rejects.toMatchObject({ code: 'held' });
    }
    await first.append(driver, [note('still here')]);
  });
});

/** Retries until the session is no longer held. */
async function openWhenFree(log: RemoteLog, session: string) {
  for (;;) {
    try {
      return await log.call('open', session, {});
    } catch (error) {
      expect(error).toMatchObject({ code: 'held' });
    }
  }
}

describe('a producer in another process', () => {
  test('writes what the driver gets with its next append', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const { driver } = await first.call('open', 's', {});
    const admission = await first.call('admit', driver, { for: 'request', turn: 1 });
    const { producer, attempt } = await second.call('produce', admission);
    expect(attempt).toBe(1);
    expect(await second.produce(producer, [note('there', 1, 1)], 1)).toEqual({
      through: 1,
      isRepeat: false,
    });
    expect(notesOf(await first.append(driver, [note('here')]))).toEqual(['there', 'here']);
  });

  test('is fenced when a third one opens its admission, whose repeats are stored once', async () => {
    const [first, second, third] = await Promise.all([start(), start(), start()]);
    const { driver } = await first.call('open', 's', {});
    const admission = await first.call('admit', driver, { for: 'request', turn: 1 });
    const early = await second.call('produce', admission);
    await second.produce(early.producer, [note('early', 1, 1)], 1);
    const late = await third.call('produce', admission);
    expect(late).toMatchObject({ epoch: 2, attempt: 2 });
    const again = second.produce(early.producer, [note('fenced', 1, 1)], 2);
    await expect(again).rejects.toMatchObject({
      code: 'fenced',
      place: { session: 's', epoch: 2 },
    });
    const drafts = [note('late', 1, 2)];
    const messages = await third.produce(late.producer, drafts, 1);
    const repeated = await third.produce(late.producer, drafts, 1);
    expect(repeated).toEqual({ through: messages.through, isRepeat: true });
    const batch = await first.append(driver, [note('here')]);
    expect(notesOf(batch)).toEqual(['early', 'late', 'here']);
    // The records of the earlier attempt are superseded.
    expect(batch.records.map(({ turn, attempt, fact }) => [turn, attempt, fact?.type])).toEqual([
      [1, 1, 'handed_off'],
      [1, 1, 'attempt_superseded'],
      [1, 2, 'handed_off'],
      [0, 0, 'handed_off'],
    ]);
  });

  test('is fenced with the driver that let it in', async () => {
    const [first, second, third] = await Promise.all([start(), start(), start()]);
    const { driver } = await first.call('open', 's', {});
    const admission = await first.call('admit', driver, { for: 'request', turn: 1 });
    const { producer } = await second.call('produce', admission);
    first.kill('SIGKILL');
    await first.exit;
    await third.call('open', 's', {});
    const late = second.produce(producer, [note('late', 1, 1)], 1);
    await expect(late).rejects.toMatchObject({ code: 'fenced' });
    await expect(second.call('produce', admission)).rejects.toMatchObject({ code: 'fenced' });
  });
});

describe('commands from another process', () => {
  test('reach the driver with its next append, each one once', async () => {
    const [first, second, third] = await Promise.all([start(), start(), start()]);
    const { driver } = await first.call('open', 's', {});
    const messages = await second.call('submit', 's', { say: 'hi' }, 'k');
    const repeats = await Promise.all([
      second.call('submit', 's', { say: 'hi' }, 'k'),
      third.call('submit', 's', { say: 'hi' }, 'k'),
    ]);
    for (const repeat of repeats) expect(repeat).toEqual({ ...messages, isRepeat: true });
    const { records } = await first.append(driver, [note('here')]);
    expect(records.map(({ fact }) => fact?.type)).toEqual(['command_queued', 'handed_off']);
  });

  test("reach a follower in the driver's process without an append", async () => {
    const [first, second] = await Promise.all([start(), start()]);
    await first.call('open', 's', {});
    await first.call('follow', 's', {});
    await second.call('submit', 's', { say: 'hi' }, 'k');
    const { records } = await first.nextBatch();
    expect(records.map(({ fact }) => fact)).toEqual([
      { type: 'command_queued', key: 'k', command: { say: 'hi' } },
    ]);
  });

  test('can be sent again if the sender was killed before the answer', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    first.call('submit', 's', { say: 'hi' }, 'k').catch(() => {});
    first.kill('SIGKILL');
    await first.exit;
    const { offset } = await second.call('submit', 's', { say: 'hi' }, 'k');
    expect(offset).toBe(1);
  });
});

describe('a follower in another process', () => {
  test('receives everything in order: stored and new records', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const { driver } = await first.call('open', 's', {});
    const names = Array.from({ length: 60 }, (_, index) => `note ${index}`);
    await first.append(
      driver,
      names.slice(0, 10).map((name) => note(name)),
    );
    await second.call('follow', 's', {});
    for (const name of names.slice(10)) await first.append(driver, [note(name)]);
    expect(await hear(second, names.length)).toEqual(names);
  });

  test.each(['process', 'power'] as const)(
    'receives each commit through a file system event, with durability %s',
    async (durability) => {
      // Disables the regular check, so that only file system events can report the change.
      vi.useFakeTimers({ toFake: ['setInterval'] });
      const log = sqliteLog({ path });
      const controller = new AbortController();
      try {
        const there = await start({ durability });
        const { driver } = await there.call('open', 's', {});
        const batches = log.follow(sessionId('s'), { signal: controller.signal });
        const reader = batches[Symbol.asyncIterator]();
        for (let round = 0; round < 300; round++) {
          const received = reader.next();
          await there.append(driver, [note(`note ${round}`)]);
          expect(notesOf((await received).value)).toEqual([`note ${round}`]);
        }
      } finally {
        controller.abort();
        vi.useRealTimers();
        await log.close();
      }
    },
  );

  test('keeps its process alive while it waits, and not longer', async () => {
    const first = await start();
    const { driver } = await first.call('open', 's', {});
    const program = new URL('../testing/programs/follow-session.ts', import.meta.url);
    const messages: unknown[] = [];
    const following = Promise.withResolvers<void>();
    const onTold = (value: unknown) => {
      messages.push(value);
      following.resolve();
    };
    const { exit } = startProcess(program, { args: [path, 's'], onMessage: onTold });
    await following.promise;
    // Waiting for records must keep the process alive.
    await first.append(driver, [note('one')]);
    await first.append(driver, [note('two')]);
    await first.call('closeSession', driver);
    expect(await exit).toEqual({ code: 0, signal: null, stderr: '' });
    expect(messages).toEqual([{ type: 'follows' }, { type: 'ended', through: 2 }]);
  });

  test('ends when any process closes the session', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const { driver } = await first.call('open', 's', {});
    const log = sqliteLog({ path });
    const batches = log.follow(sessionId('s'), { until: 'closed' });
    const all = collect(batches);
    await first.append(driver, [note('one')]);
    await first.call('closeSession', driver);
    expect((await all).flatMap(notesOf)).toEqual(['one']);
    await expect(second.call('open', 's', {})).rejects.toMatchObject({ code: 'session_closed' });
    await log.close();
  });
});
