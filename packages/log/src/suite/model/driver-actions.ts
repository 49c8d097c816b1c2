import assert from 'node:assert/strict';
import type { Batch, DraftRecord, Fact } from '@millrace/core';
import type { Driver } from '../../contract/log.ts';
import { remark } from '../drafts.ts';
import { openWork, type Session } from '../reference/reference-store.ts';
import {
  type Act,
  type ModelWorld,
  type Opened,
  type Pair,
  pick,
  plain,
  sameOutcome,
} from './model-world.ts';
import { endOf, legal, producedTurns } from './script.ts';

const leaseMs = 10_000;

export const open: Act = async (world, { a, b }) => {
  const [name, log] = [world.nameAt(a), pick(world.logs, b)];
  if (log === undefined) return 'nothing';
  const through = world.session(name)?.through ?? 0;
  const options = {
    holder: `holder ${b % 3}`,
    leaseMs: b % 4 === 0 ? Number.POSITIVE_INFINITY : leaseMs,
    takeOver: b % 3 === 0,
    from: [0, through, 0, through + 1, Math.floor(through / 2)][b % 5] ?? 0,
  };
  const pair = { real: log.real.open(name, options), reference: log.reference.open(name, options) };
  const { values, code } = await sameOutcome(pair, ({ session }) => session);
  if (values === undefined) return code;
  assert.ok(values.real.epoch > (world.epochs.get(name) ?? 0), 'epochs rise');
  world.epochs.set(name, values.real.epoch);
  world.drivers.push({ ...values, log });
  return options.takeOver ? 'by force' : 'done';
};

export const append: Act = async (world, { a, b }) => {
  const driver = pick(world.drivers, a);
  if (driver === undefined) return 'nothing';
  return (await sameOutcome(issueScript(world, driver, 1 + (b % 12)), sayBatch)).code;
};

/** The next of the script, asked for at both without waiting for the answers. */
export function issueScript(
  world: ModelWorld,
  driver: Opened<Driver>,
  count: number,
): Pair<Promise<Batch>> {
  const session = world.session(driver.real.session);
  if (session === undefined) return issue(driver, [remark('to nobody')]);
  const script = world.nextOfScript(session, count);
  const drafts = legal(session, sensible(session, script));
  const before = session.through;
  const issued = issue(driver, drafts);
  // The reference has done it by now, or refused.
  if (session.through > before || drafts.length === 0) world.noteTold(session, script.length);
  return issued;
}

/**
 * A driver starts a turn once, as a fork may tempt it not to, and says nothing more in one that it
 * finished, but may still take something back.
 */
function sensible({ records }: Session, drafts: readonly DraftRecord[]): readonly DraftRecord[] {
  const turnsWith = (type: Fact['type']) =>
    new Set(records.filter(({ fact }) => fact?.type === type).map(({ turn }) => turn));
  const [started, finished] = [turnsWith('turn_started'), turnsWith('turn_finished')];
  return drafts.filter(({ turn, delta, fact }) => {
    if (fact?.type === 'turn_started') return !started.has(turn);
    return !finished.has(turn) || delta?.type === 'retract_part';
  });
}

function issue(
  { real, reference }: Opened<Driver>,
  drafts: readonly DraftRecord[],
): Pair<Promise<Batch>> {
  return { real: real.append(drafts), reference: reference.append(drafts) };
}

export const sayBatch = ({ after, through, records }: Batch): unknown => ({
  after,
  through,
  records: plain(records),
});

/** Begins a turn that producers write. */
export const startTurn: Act = (world, { a, b }) =>
  appendOf(world, a, ({ records }) => {
    const turn = producedTurns[b % producedTurns.length] ?? 0;
    const isNew = records.every((record) => record.turn !== turn);
    return isNew ? [{ turn, attempt: 0, fact: { type: 'turn_started' } }] : [];
  });

/** Finishes what is open of a turn, and the turn. */
export const endTurn: Act = (world, { a, b }) =>
  appendOf(world, a, (session) => {
    const turns = [...openWork(session.records)].filter((work) => work.startsWith('turn '));
    const turn = Number(pick(turns, b)?.slice('turn '.length) ?? 0);
    return turn === 0 ? [] : endOf(session, turn);
  });

export const consume: Act = (world, { a }) =>
  appendOf(world, a, ({ records }) => {
    const queued = [...openWork(records)].filter((work) => work.startsWith('command '));
    const keys = queued.map((work) => work.slice('command '.length)).slice(0, 1);
    return keys.map((key) => ({ turn: 0, attempt: 0, fact: { type: 'command_consumed', key } }));
  });

async function appendOf(
  world: ModelWorld,
  number: number,
  draftsOf: (session: Session) => readonly DraftRecord[],
): Promise<string> {
  const driver = pick(world.drivers, number);
  if (driver === undefined) return 'nothing';
  const session = world.session(driver.real.session);
  const drafts = session && legal(session, draftsOf(session));
  if (drafts === undefined || drafts.length === 0) return 'nothing';
  return (await sameOutcome(issue(driver, drafts), sayBatch)).code;
}

export const release: Act = async (world, { a }) => {
  const driver = pick(world.drivers, a);
  if (driver === undefined) return 'nothing';
  const { real, reference } = driver;
  const pair = { real: real.release(), reference: reference.release() };
  return (await sameOutcome(pair, () => undefined)).code;
};

export const closeSession: Act = async (world, { a, b }) => {
  const driver = pick(world.drivers, a);
  if (driver === undefined || b % 3 > 0) return 'nothing';
  const { real, reference } = driver;
  const pair = { real: real.closeSession(), reference: reference.closeSession() };
  return (await sameOutcome(pair, sayBatch)).code;
};
