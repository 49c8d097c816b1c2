import { setTimeout } from 'node:timers/promises';
import type { Admission, Log, Producer } from '@millrace/log';
import { orders } from '../../packages/log/src/testing/start-process.ts';
import { Randomness } from './randomness.ts';
import { Scribe } from './scribe.ts';
import { isFenced, say, sayTried } from './teller.ts';

/** Writes by the admissions that it is given, each for a while, and repeats itself now and then. */
export async function produce(log: Log, name: string, seed: number): Promise<void> {
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
    if (isFenced(error)) return undefined;
    throw error;
  }
}

async function answered(append: ReturnType<Producer['append']>): Promise<number | undefined> {
  try {
    return (await append).through;
  } catch (error) {
    if (isFenced(error)) return undefined;
    throw error;
  }
}
