import { type DraftRecord, toolCallId } from '@millrace/core';
import type { AppendAck } from '../../contract/producer.ts';
import { appendScript, comparableBatch } from './driver-actions.ts';
import {
  type Action,
  type ModelWorld,
  type OpenProducer,
  type Pair,
  pickRecent,
  sameOutcome,
} from './model-world.ts';
import { nextAnswerDrafts, producedTurns } from './script.ts';

export const admit: Action = async (world, { a, b }) => {
  const driver = pickRecent(world.drivers, a);
  if (driver === undefined) return 'nothing';
  const turn = producedTurns[b % producedTurns.length] ?? 0;
  const isRequest = b % 5 > 0;
  const options = isRequest
    ? ({ for: 'request', turn } as const)
    : ({ for: 'call', turn, attempt: 1, toolCallId: toolCallId('c') } as const);
  const { real, reference } = driver;
  const pair = { real: real.admit(options), reference: reference.admit(options) };
  const { values, code } = await sameOutcome(pair, ({ session }) => session);
  if (values !== undefined) world.admissions.push({ ...values, isRequest });
  return code;
};

export const produce: Action = async (world, { a, b }) => {
  const [admission, log] = [pickRecent(world.admissions, a), pickRecent(world.logs, b)];
  if (admission === undefined || log === undefined) return 'nothing';
  const { real, reference, isRequest } = admission;
  const pair = { real: log.real.produce(real), reference: log.reference.produce(reference) };
  const { values, code } = await sameOutcome(pair, ({ session, turn, attempt }) => ({
    session,
    turn,
    attempt,
  }));
  if (values === undefined) return code;
  world.producers.push({ ...values, log, isRequest, last: { drafts: [], sequence: 0 } });
  return values.real.attempt > 1 ? 'again' : 'done';
};

export const write: Action = async (world, { a, b }) => {
  const producer = pickRecent(world.producers, a);
  if (producer === undefined) return 'nothing';
  const { values, code } = await sameOutcome(
    writeBoth(world, producer, b),
    (acknowledged) => acknowledged,
  );
  return values?.real.isRepeat ? 'repeat' : code;
};

/** Appends the next drafts, repeats the last append, or sends an invalid append. */
function writeBoth(
  world: ModelWorld,
  producer: OpenProducer,
  number: number,
): Pair<Promise<AppendAck>> {
  const { real, reference, last } = producer;
  const isAgain = number % 4 === 0 && last.sequence > 0;
  const isAhead = number % 11 === 0;
  const foreign = number % 13 === 0 ? [{ ...abortedDraft(producer), attempt: 99 }] : [];
  const drafts = isAgain ? last.drafts : [...nextOf(world, producer, number), ...foreign];
  const sequence = last.sequence + (isAgain ? 0 : isAhead ? 2 : 1);
  if (!isAgain && !isAhead && foreign.length === 0) producer.last = { drafts, sequence };
  return {
    real: real.append(drafts, sequence),
    reference: reference.append(drafts, sequence),
  };
}

function nextOf(world: ModelWorld, producer: OpenProducer, number: number): readonly DraftRecord[] {
  const { session: name, turn, attempt } = producer.real;
  const session = world.session(name);
  if (session === undefined || !producer.isRequest) return [abortedDraft(producer)];
  const numbers = Array.from({ length: 1 + (number % 5) }, (_, index) => (number >> index) + index);
  return nextAnswerDrafts(session, turn, attempt, numbers);
}

function abortedDraft({ real: { turn, attempt } }: OpenProducer): DraftRecord {
  return { turn, attempt, fact: { type: 'aborted' } };
}

/** Makes several calls before the first call is answered. They must run in the order of the calls. */
export const burst: Action = async (world, { a, b }) => {
  const driver = pickRecent(world.drivers, a);
  // For a deleted session, the outcome depends on timing.
  if (driver === undefined || world.session(driver.real.session) === undefined) return 'nothing';
  const { log, real } = driver;
  const isIts = (one: OpenProducer) => one.log === log && one.real.session === real.session;
  const producer = pickRecent(world.producers.filter(isIts), b);
  const answers: Promise<{ readonly code: string }>[] = [];
  for (let count = 2 + (b % 3), number = b; count > 0; count--, number >>= 2) {
    if (number % 4 === 0) {
      const [command, key] = [{ n: number }, `k${number % 5}`];
      const submitted = {
        real: log.real.submit(real.session, command, key),
        reference: log.reference.submit(real.session, command, key),
      };
      answers.push(sameOutcome(submitted, (one) => one));
    } else if (number % 4 === 1 && producer !== undefined)
      answers.push(sameOutcome(writeBoth(world, producer, number), (one) => one));
    else answers.push(sameOutcome(appendScript(world, driver, 1 + (number % 4)), comparableBatch));
  }
  return [...new Set((await Promise.all(answers)).map(({ code }) => code))].sort().join(' and ');
};
