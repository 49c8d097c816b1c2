// A worker process of the chaos run. Its argument is an assignment in JSON. Most workers run until
// they are killed.
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type DraftRecord, sessionId } from '@millrace/core';
import type { Admission, Log, Producer } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import type { OnCommitPoint } from '../../packages/log/src/storage/record-store.ts';
import { messagesFromParent } from '../../packages/log/src/testing/start-process.ts';
import { drive } from './driver.ts';
import {
  type Assignment,
  type Command,
  type ContenderTask,
  commandName,
  isFencedError,
  isHeldError,
  type ReaderTask,
  report,
  reportAttempt,
  reportReceived,
  type SubmitterTask,
} from './messages.ts';
import { Randomness } from './randomness.ts';
import { RandomRecordWriter } from './record-writer.ts';

function killSelfAt(selfKill: Assignment['selfKill']): OnCommitPoint | undefined {
  if (selfKill === undefined) return undefined;
  let left = selfKill.passes;
  return (point) => {
    if (point === selfKill.point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}

/** Changes the clock of this process, as an administrator or a time server would. */
function stepClock({ clockStep }: Assignment): void {
  if (clockStep === undefined) return;
  const wallTime = Date.now.bind(Date);
  const step = () => {
    Date.now = () => wallTime() + clockStep.byMs;
  };
  globalThis.setTimeout(step, clockStep.afterMs).unref();
}

/** Exits when the parent process has ended and can no longer receive reports. */
function exitWithParent(): void {
  const pipe = process.stdin as Socket;
  pipe.resume().unref();
  pipe.on('close', () => process.exit(1));
}

async function run(assignment: Assignment): Promise<void> {
  if (assignment.role === 'warm-up') return;
  // A producer reads its input and ends when the input ends. So it needs no check of the parent.
  if (assignment.role !== 'producer') exitWithParent();
  stepClock(assignment);
  const log = sqliteLog({ path: assignment.path, onPoint: killSelfAt(assignment.selfKill) });
  switch (assignment.role) {
    case 'driver':
      await drive(log, assignment);
      break;
    case 'producer':
      await produce(log, assignment.name, assignment.seed);
      break;
    case 'submitter':
      await submit(log, assignment);
      break;
    case 'reader':
      await read(log, assignment);
      break;
    case 'contender':
      await contend(log, assignment);
      break;
  }
  await log.close();
}

try {
  await run(JSON.parse(process.argv[2] ?? '{}') as Assignment);
} catch (error) {
  report({
    type: 'failed',
    reason: error instanceof Error ? (error.stack ?? error.message) : `${error}`,
  });
  process.exitCode = 1;
}

/**
 * Writes records with each admission that it receives. Some appends are repeated to test
 * idempotency.
 */
async function produce(log: Log, name: string, seed: number): Promise<void> {
  const random = new Randomness(seed);
  let count = 0;
  const working: Promise<void>[] = [];
  report({ type: 'ready' });
  for await (const admission of messagesFromParent<Admission>()) {
    const tag = `${name}, admission ${++count}`;
    working.push(writeWithAdmission(log, admission, tag, new Randomness(random.seed())));
  }
  await Promise.all(working);
}

async function writeWithAdmission(
  log: Log,
  admission: Admission,
  tag: string,
  random: Randomness,
): Promise<void> {
  const producer = await openProducer(log, admission);
  if (producer === undefined) return;
  const { session, turn, attempt } = producer;
  const writer = new RandomRecordWriter({ tag, turn, attempt, random });
  for (let sequence = 1; sequence < 50; sequence++) {
    const drafts = writer.write();
    const append = `${tag}, append ${sequence} to ${session}`;
    const tries = random.oneIn(4) ? 2 : 1;
    for (let left = tries; left > 0; left--) {
      reportAttempt(append, session, drafts);
      const through = await throughOrFenced(producer.append(drafts, sequence));
      report(
        through === undefined ? { type: 'refused', append } : { type: 'stored', append, through },
      );
      if (through === undefined) return;
    }
    await setTimeout(random.below(12));
  }
}

async function openProducer(log: Log, admission: Admission): Promise<Producer | undefined> {
  try {
    return await log.produce(admission);
  } catch (error) {
    if (isFencedError(error)) return undefined;
    throw error;
  }
}

async function throughOrFenced(
  append: ReturnType<Producer['append']>,
): Promise<number | undefined> {
  try {
    return (await append).through;
  } catch (error) {
    if (isFencedError(error)) return undefined;
    throw error;
  }
}

/**
 * Sends commands to sessions. It repeats some commands that it or an earlier submitter has sent.
 */
async function submit(log: Log, assignment: Assignment & SubmitterTask): Promise<void> {
  const random = new Randomness(assignment.seed);
  const sent: Command[] = [];
  let count = 0;
  report({ type: 'ready' });
  const waiting = [...assignment.unanswered];
  for (;;) {
    const session = random.oneOf(assignment.sessions) ?? '';
    const newCommand = { session, key: `${assignment.name} ${++count}` };
    const command =
      waiting.shift() ?? (random.oneIn(4) ? random.oneOf(sent) : undefined) ?? newCommand;
    await send(log, command);
    sent.push(command);
    await setTimeout(random.below(10));
  }
}

async function send(log: Log, { session, key }: Command): Promise<void> {
  const command = { type: 'message', text: `from ${key}` };
  const draft: DraftRecord = {
    turn: 0,
    attempt: 0,
    fact: { type: 'command_queued', key, command },
  };
  const append = commandName({ session, key });
  reportAttempt(append, session, [draft]);
  const { offset } = await log.submit(sessionId(session), command, key);
  report({ type: 'stored', append, through: offset });
}

/** Follows a session from an offset to its end. A slow reader pauses from time to time. */
async function read(log: Log, assignment: Assignment & ReaderTask): Promise<void> {
  const { session, from, knownThrough, isSlow, seed } = assignment;
  const random = new Randomness(seed);
  report({ type: 'subscribed', session, from, knownThrough });
  report({ type: 'ready' });
  for await (const batch of log.follow(sessionId(session), { from, until: 'closed' })) {
    reportReceived({ session }, batch);
    if (isSlow && random.oneIn(3)) await setTimeout(random.below(60));
  }
  report({ type: 'ended', session });
}

/**
 * Tries to open sessions without taking over. This succeeds only if the driver was killed or
 * paused.
 */
async function contend(log: Log, { name, sessions, seed }: Assignment & ContenderTask) {
  const random = new Randomness(seed);
  report({ type: 'ready' });
  for (;;) {
    const session = random.oneOf(sessions) ?? '';
    try {
      const driver = await log.open(sessionId(session), { holder: name });
      report({ type: 'taken', session });
      await driver.release();
    } catch (error) {
      // The next driver may already have taken over the session.
      if (!isHeldError(error) && !isFencedError(error)) throw error;
    }
    await setTimeout(random.below(40));
  }
}
