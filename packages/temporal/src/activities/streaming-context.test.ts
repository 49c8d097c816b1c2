import { Folder, type LogRecord, sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import type { SentAnswer } from '../contract/activities.ts';
import { hasFact, hasText, textsOf, waitForRecords } from '../testing/session-log.ts';
import type { ManualStreamWriter } from './manual-provider.ts';
import { streamingContext } from './streaming-context.ts';

const session = sessionId('weather');

/** One attempt of an activity, and a function that stops it. */
function activityAttempt(log: Log, id: string, attempt = 1) {
  const workflowExecution = { workflowId: 'weather', runId: 'run' };
  const info = { activityId: id, attempt, workflowExecution, heartbeatTimeoutMs: 2_000 };
  const env = new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR') });
  const stream = (work: (stream: ManualStreamWriter) => Promise<void>): Promise<SentAnswer> =>
    env.run(() => streamingContext({ log }, work));
  return { stream, stop: env.cancel };
}

/** Wraps the log and reports when `open` has been refused n times. */
function countRefusals(log: Log) {
  let refusals = 0;
  const waiting = new Map<number, () => void>();
  const open: Log['open'] = async (...asked) => {
    try {
      return await log.open(...asked);
    } catch (error) {
      waiting.get(++refusals)?.();
      throw error;
    }
  };
  const get = (target: Log, key: keyof Log) => {
    const value = key === 'open' ? open : target[key];
    return typeof value === 'function' ? value.bind(target) : value;
  };
  const refused = (times: number) =>
    new Promise<void>((resolve) => {
      if (refusals >= times) resolve();
      waiting.set(times, resolve);
    });
  return { log: new Proxy(log, { get: get as never }), refused };
}

const runsIn = (records: readonly LogRecord[]) =>
  records.filter(({ fact }) => fact?.type === 'run_started').length;

const writes = (text: string) => async (stream: ManualStreamWriter) => stream.write(text);
const writesAndStalls = (text: string) => async (stream: ManualStreamWriter) => {
  stream.write(text);
  await new Promise<void>((resolve) => stream.signal.addEventListener('abort', () => resolve()));
};

/** Simulates a worker that dies in an activity, which still holds the session. */
async function crash(log: Log, id: string, text: string, attempt = 1): Promise<void> {
  const { stream, stop } = activityAttempt(log, id, attempt);
  const died = stream(writesAndStalls(text));
  died.catch(() => {});
  await waitForRecords(log, session, hasText(text));
  stop('WORKER_SHUTDOWN');
  await expect(died).rejects.toMatchObject({ type: 'millrace.left' });
}

test('a retry of an activity takes the session from the dead attempt immediately', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await crash(log, '1', 'Half');
  expect(await activityAttempt(log, '1', 2).stream(writes('Whole.'))).toMatchObject({
    text: 'Whole.',
  });
  expect(await textsOf(log, session)).toEqual(['Whole.']);
});

test('an activity that waits for a dead one starts when the lease has expired', async () => {
  const clock = new TestClock();
  const { log, refused } = countRefusals(memoryLog({ clock }));
  await crash(log, '1', 'Half');
  const waits = activityAttempt(log, '2').stream(writes('Whole.'));
  await refused(3);
  await clock.advance(20_000);
  expect(await waits).toMatchObject({ text: 'Whole.', stop: { reason: 'stop' } });
  expect(await textsOf(log, session)).toEqual(['Half', 'Whole.']);
  // The late retry of the dead activity streams its answer again.
  expect(await activityAttempt(log, '1', 2).stream(writes('At last.'))).toMatchObject({
    text: 'At last.',
  });
  expect(await textsOf(log, session)).toEqual(['Half', 'Whole.', 'At last.']);
});

test('an activity may have several streams, each stored once after retries', async () => {
  const log = memoryLog({ clock: new TestClock() });
  const both = async (attempt: number) => {
    const { stream } = activityAttempt(log, '1', attempt);
    const sent = [await stream(writes('One.')), await stream(writes('Two.'))];
    return sent.map(({ text }) => text);
  };
  expect(await both(1)).toEqual(['One.', 'Two.']);
  expect(await both(2)).toEqual(['One.', 'Two.']);
  expect(await textsOf(log, session)).toEqual(['One.', 'Two.']);
});

const writesAndThrows = (text: string) => async (stream: ManualStreamWriter) => {
  stream.write(text);
  throw new Error('out of memory');
};

/** Simulates an attempt that writes text and then fails. */
async function failAttempt(log: Log, id: string, text: string, attempt = 1): Promise<void> {
  const failed = activityAttempt(log, id, attempt).stream(writesAndThrows(text));
  await expect(failed).rejects.toThrow('out of memory');
}

test('a retry replaces the output of a failed attempt, and the last attempt is kept as partial', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await activityAttempt(log, '0').stream(writes('Before.'));
  for (const attempt of [1, 2, 3]) {
    await failAttempt(log, '1', 'Half', attempt);
    const parts = transcript(await snapshot(log, session)).flatMap((item) => item.parts);
    expect(parts).toMatchObject([{ text: 'Before.' }, { text: 'Half', partial: true }]);
  }
  const sent = await activityAttempt(log, '1', 4).stream(writes('Half and whole.'));
  expect(sent).toMatchObject({ text: 'Half and whole.', messages: [{}] });
  expect(await textsOf(log, session)).toEqual(['Before.', 'Half and whole.']);
  const state = await snapshot(log, session);
  // The finished turn waits for no further attempt.
  expect([state.superseded, state.open, state.run]).toEqual([[], [], undefined]);
});

test('a retry replaces the output of a failed attempt and of a dead one', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await failAttempt(log, '1', 'Half');
  await crash(log, '1', 'Nearly', 2);
  await activityAttempt(log, '1', 3).stream(writes('Whole.'));
  expect(await textsOf(log, session)).toEqual(['Whole.']);
});

test('a retry replaces the output of a failed attempt that was settled', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await failAttempt(log, '1', 'Half');
  const reader = new Folder(await snapshot(log, session));
  expect(await log.settle(session, 1)).toBe(true);
  await activityAttempt(log, '1', 2).stream(writes('Whole.'));
  await log.settle(session, 1);
  expect(await textsOf(log, session)).toEqual(['Whole.']);
  // A reader that followed the failed attempt reaches the same state.
  expect(reader.addBatch(await log.read(session, { from: reader.state.through })).outcome).toBe(
    'applied',
  );
  expect(transcript(reader.state)).toEqual(transcript(await snapshot(log, session)));
});

test('the output of a failed attempt is kept if another activity wrote after it', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await failAttempt(log, '1', 'Half');
  await activityAttempt(log, '2').stream(writes('I see.'));
  await activityAttempt(log, '1', 2).stream(writes('Whole.'));
  expect(await textsOf(log, session)).toEqual(['Half', 'I see.', 'Whole.']);
});

test('an activity that handles an error continues and releases the session', async () => {
  const log = memoryLog({ clock: new TestClock() });
  const { stream } = activityAttempt(log, '1');
  await stream(writesAndThrows('Half')).catch(() => stream(writes('Sorry.')));
  await activityAttempt(log, '2').stream(writes('I see.'));
  expect(await textsOf(log, session)).toEqual(['Half', 'Sorry.', 'I see.']);
});

test('an activity that is cancelled while it waits writes nothing', async () => {
  const { log, refused } = countRefusals(memoryLog({ clock: new TestClock() }));
  await crash(log, '1', 'Half');
  const { stream, stop } = activityAttempt(log, '2');
  const waits = stream(() => expect.fail('the work started too early'));
  await refused(1);
  stop('CANCELLED');
  await expect(waits).rejects.toMatchObject({ name: 'CancelledFailure' });
  expect(runsIn(await waitForRecords(log, session, hasText('Half')))).toBe(1);
});

test('a worker that stops while it waits leaves the activity to another worker', async () => {
  const { log, refused } = countRefusals(memoryLog({ clock: new TestClock() }));
  await crash(log, '1', 'Half');
  const { stream, stop } = activityAttempt(log, '2');
  const waits = stream(() => expect.fail('the work started too early'));
  await refused(1);
  stop('WORKER_SHUTDOWN');
  await expect(waits).rejects.toMatchObject({ type: 'millrace.left' });
});

test('a retry of a completed attempt returns its result, also if others wrote since', async () => {
  const log = memoryLog({ clock: new TestClock() });
  const first = await activityAttempt(log, '1').stream(writes('One.'));
  await activityAttempt(log, '2').stream(writes('Two.'));
  const again = await activityAttempt(log, '1', 2).stream(() => expect.fail('the work ran again'));
  expect(again).toEqual(first);
  expect(runsIn(await waitForRecords(log, session, hasFact('run_finished')))).toBe(2);
});
