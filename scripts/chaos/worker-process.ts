import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type DraftRecord, sessionId } from '@millrace/core';
import type { Admission, Log, Producer } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import type { OnPoint } from '../../packages/log/src/storage/record-store.ts';
import { orders } from '../../packages/log/src/testing/start-process.ts';
import { drive } from './driver.ts';
import {
  type Command,
  commandName,
  isFencedError,
  type Order,
  type ReaderOrder,
  type SubmitterOrder,
  say,
  sayHeard,
  sayTried,
} from './messages.ts';
import { Randomness } from './randomness.ts';
import { Scribe } from './record-writer.ts';

// One process of the chaos, which does what its order says until it dies: process.ts <order>.
function dyingAt(death: Order['death']): OnPoint | undefined {
  if (death === undefined) return undefined;
  let left = death.passes;
  return (point) => {
    if (point === death.point && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}

/** Nobody is left to be told anything when the process that started this one is gone. */
function endWithParent(): void {
  const pipe = process.stdin as Socket;
  pipe.resume().unref();
  pipe.on('close', () => process.exit(1));
}

async function run(order: Order): Promise<void> {
  if (order.role === 'nobody') return;
  // A producer reads what comes, and so hears the end of it.
  if (order.role !== 'producer') endWithParent();
  const log = sqliteLog({ path: order.path, onPoint: dyingAt(order.death) });
  switch (order.role) {
    case 'driver':
      await drive(log, order);
      break;
    case 'producer':
      await produce(log, order.name, order.seed);
      break;
    case 'submitter':
      await submit(log, order);
      break;
    case 'reader':
      await read(log, order);
      break;
  }
  await log.close();
}

try {
  await run(JSON.parse(process.argv[2] ?? '{}') as Order);
} catch (error) {
  say({
    type: 'failed',
    why: error instanceof Error ? (error.stack ?? error.message) : `${error}`,
  });
  process.exitCode = 1;
}

/** Writes by the admissions that it is given, each for a while, and repeats itself now and then. */
async function produce(log: Log, name: string, seed: number): Promise<void> {
  const random = new Randomness(seed);
  let count = 0;
  const working: Promise<void>[] = [];
  say({ type: 'ready' });
  for await (const admission of orders<Admission>()) {
    const own = `${name}, admission ${++count}`;
    working.push(writeBy(log, admission, own, new Randomness(random.seed())));
  }
  await Promise.all(working);
}

async function writeBy(
  log: Log,
  admission: Admission,
  tag: string,
  random: Randomness,
): Promise<void> {
  const producer = await opened(log, admission);
  if (producer === undefined) return;
  const { session, turn, attempt } = producer;
  const scribe = new Scribe({ tag, turn, attempt, random });
  for (let sequence = 1; sequence < 50; sequence++) {
    const drafts = scribe.write();
    const append = `${tag}, append ${sequence} to ${session}`;
    const tries = random.oneIn(4) ? 2 : 1;
    for (let left = tries; left > 0; left--) {
      sayTried(append, session, drafts);
      const through = await answered(producer.append(drafts, sequence));
      say(
        through === undefined ? { type: 'refused', append } : { type: 'stored', append, through },
      );
      if (through === undefined) return;
    }
    await setTimeout(random.below(12));
  }
}

async function opened(log: Log, admission: Admission): Promise<Producer | undefined> {
  try {
    return await log.produce(admission);
  } catch (error) {
    if (isFencedError(error)) return undefined;
    throw error;
  }
}

async function answered(append: ReturnType<Producer['append']>): Promise<number | undefined> {
  try {
    return (await append).through;
  } catch (error) {
    if (isFencedError(error)) return undefined;
    throw error;
  }
}

/** Sends commands to sessions, and now and then one that was sent before, by itself or by another. */
async function submit(log: Log, order: Order & SubmitterOrder): Promise<void> {
  const random = new Randomness(order.seed);
  const sent: Command[] = [];
  let count = 0;
  say({ type: 'ready' });
  const waiting = [...order.unanswered];
  for (;;) {
    const session = random.oneOf(order.sessions) ?? '';
    const fresh = { session, key: `${order.name} ${++count}` };
    const command = waiting.shift() ?? (random.oneIn(4) ? random.oneOf(sent) : undefined) ?? fresh;
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
  sayTried(append, session, [draft]);
  const { offset } = await log.submit(sessionId(session), command, key);
  say({ type: 'stored', append, through: offset });
}

/** Follows a session from somewhere to its end; a slow one stalls now and then. */
async function read(log: Log, order: Order & ReaderOrder): Promise<void> {
  const { session, from, atLeast, isSlow, seed } = order;
  const random = new Randomness(seed);
  say({ type: 'asked', session, from, atLeast });
  say({ type: 'ready' });
  for await (const batch of log.follow(sessionId(session), { from, until: 'closed' })) {
    sayHeard({ session }, batch);
    if (isSlow && random.oneIn(3)) await setTimeout(random.below(60));
  }
  say({ type: 'ended', session });
}
