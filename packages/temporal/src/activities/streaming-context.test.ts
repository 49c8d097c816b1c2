import { Folder, type LogRecord, sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, test } from 'vitest';
import type { Sent } from '../contract/activities.ts';
import { having, saying, textsOf, until } from '../testing/session-log.ts';
import type { OpenStream } from './manual-provider.ts';
import { streamingContext } from './streaming-context.ts';

const session = sessionId('mill');

/** One try of an activity, and how it is told to stop. */
function activity(log: Log, id: string, attempt = 1) {
  const workflowExecution = { workflowId: 'mill', runId: 'run' };
  const info = { activityId: id, attempt, workflowExecution, heartbeatTimeoutMs: 2_000 };
  const env = new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR') });
  const stream = (work: (stream: OpenStream) => Promise<void>): Promise<Sent> =>
    env.run(() => streamingContext({ log }, work));
  return { stream, stop: env.cancel };
}

/** The log, and when somebody came in vain for the nth time. */
function counted(log: Log) {
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

const says = (text: string) => async (stream: OpenStream) => stream.write(text);
const forEver = (text: string) => async (stream: OpenStream) => {
  stream.write(text);
  await new Promise<void>((resolve) => stream.signal.addEventListener('abort', () => resolve()));
};

/** A worker dies in an activity, which keeps the session. */
async function dies(log: Log, id: string, text: string, attempt = 1): Promise<void> {
  const { stream, stop } = activity(log, id, attempt);
  const died = stream(forEver(text));
  died.catch(() => {});
  await until(log, session, saying(text));
  stop('WORKER_SHUTDOWN');
  await expect(died).rejects.toMatchObject({ type: 'millrace.left' });
}

test('the next try of an activity takes the session from the dead one at once', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await dies(log, '1', 'Half');
  expect(await activity(log, '1', 2).stream(says('Whole.'))).toMatchObject({ text: 'Whole.' });
  expect(await textsOf(log, session)).toEqual(['Whole.']);
});

test('who waits for an activity that died for good begins when its lease ended', async () => {
  const clock = new TestClock();
  const { log, refused } = counted(memoryLog({ clock }));
  await dies(log, '1', 'Half');
  const waits = activity(log, '2').stream(says('Whole.'));
  await refused(3);
  await clock.advance(20_000);
  expect(await waits).toMatchObject({ text: 'Whole.', stop: { reason: 'stop' } });
  expect(await textsOf(log, session)).toEqual(['Half', 'Whole.']);
  // The next try of the dead one comes late: it says what it has to say anew.
  expect(await activity(log, '1', 2).stream(says('At last.'))).toMatchObject({ text: 'At last.' });
  expect(await textsOf(log, session)).toEqual(['Half', 'Whole.', 'At last.']);
});

test('an activity may have several, each said once however often it is tried', async () => {
  const log = memoryLog({ clock: new TestClock() });
  const both = async (attempt: number) => {
    const { stream } = activity(log, '1', attempt);
    const said = [await stream(says('One.')), await stream(says('Two.'))];
    return said.map(({ text }) => text);
  };
  expect(await both(1)).toEqual(['One.', 'Two.']);
  expect(await both(2)).toEqual(['One.', 'Two.']);
  expect(await textsOf(log, session)).toEqual(['One.', 'Two.']);
});

const breaks = (text: string) => async (stream: OpenStream) => {
  stream.write(text);
  throw new Error('no voice left');
};

/** A try says something, and fails. */
async function fails(log: Log, id: string, text: string, attempt = 1): Promise<void> {
  const failed = activity(log, id, attempt).stream(breaks(text));
  await expect(failed).rejects.toThrow('no voice left');
}

test('the next try takes back what a failed one said; the last one’s words stay, as partial', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await activity(log, '0').stream(says('Before.'));
  for (const attempt of [1, 2, 3]) {
    await fails(log, '1', 'Half', attempt);
    const parts = transcript(await snapshot(log, session)).flatMap((item) => item.parts);
    expect(parts).toMatchObject([{ text: 'Before.' }, { text: 'Half', partial: true }]);
  }
  const sent = await activity(log, '1', 4).stream(says('Half and whole.'));
  expect(sent).toMatchObject({ text: 'Half and whole.', messages: [{}] });
  expect(await textsOf(log, session)).toEqual(['Before.', 'Half and whole.']);
  const state = await snapshot(log, session);
  // Nobody waits for another try of a turn that is over.
  expect([state.superseded, state.open, state.run]).toEqual([[], [], undefined]);
});

test('a try that dies in the place of a failed one is followed by one that takes back both', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await fails(log, '1', 'Half');
  await dies(log, '1', 'Nearly', 2);
  await activity(log, '1', 3).stream(says('Whole.'));
  expect(await textsOf(log, session)).toEqual(['Whole.']);
});

test('the next try takes back what a failed one said, also where that was settled since', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await fails(log, '1', 'Half');
  const reader = new Folder(await snapshot(log, session));
  expect(await log.settle(session, 1)).toBe(true);
  await activity(log, '1', 2).stream(says('Whole.'));
  await log.settle(session, 1);
  expect(await textsOf(log, session)).toEqual(['Whole.']);
  // Who read the failed one to its end comes to the same.
  expect(reader.addBatch(await log.read(session, { from: reader.state.through })).outcome).toBe(
    'applied',
  );
  expect(transcript(reader.state)).toEqual(transcript(await snapshot(log, session)));
});

test('what a failed try said stays where somebody spoke after it', async () => {
  const log = memoryLog({ clock: new TestClock() });
  await fails(log, '1', 'Half');
  await activity(log, '2').stream(says('I see.'));
  await activity(log, '1', 2).stream(says('Whole.'));
  expect(await textsOf(log, session)).toEqual(['Half', 'I see.', 'Whole.']);
});

test('an activity that gets over a throw goes on, and nobody has to wait', async () => {
  const log = memoryLog({ clock: new TestClock() });
  const { stream } = activity(log, '1');
  await stream(breaks('Half')).catch(() => stream(says('Sorry.')));
  await activity(log, '2').stream(says('I see.'));
  expect(await textsOf(log, session)).toEqual(['Half', 'Sorry.', 'I see.']);
});

test('who is cancelled while it waits says nothing, and is cancelled', async () => {
  const { log, refused } = counted(memoryLog({ clock: new TestClock() }));
  await dies(log, '1', 'Half');
  const { stream, stop } = activity(log, '2');
  const waits = stream(() => expect.fail('it was not its turn'));
  await refused(1);
  stop('CANCELLED');
  await expect(waits).rejects.toMatchObject({ name: 'CancelledFailure' });
  expect(runsIn(await until(log, session, saying('Half')))).toBe(1);
});

test('a worker that stops while it waits leaves the activity to another one', async () => {
  const { log, refused } = counted(memoryLog({ clock: new TestClock() }));
  await dies(log, '1', 'Half');
  const { stream, stop } = activity(log, '2');
  const waits = stream(() => expect.fail('it was not its turn'));
  await refused(1);
  stop('WORKER_SHUTDOWN');
  await expect(waits).rejects.toMatchObject({ type: 'millrace.left' });
});

test('a try that was done and not told of is told of again, also when others spoke since', async () => {
  const log = memoryLog({ clock: new TestClock() });
  const first = await activity(log, '1').stream(says('One.'));
  await activity(log, '2').stream(says('Two.'));
  const again = await activity(log, '1', 2).stream(() => expect.fail('it was said'));
  expect(again).toEqual(first);
  expect(runsIn(await until(log, session, having('run_finished')))).toBe(2);
});
