import type { Batch, DraftRecord, Fact } from '@millrace/core';
import type { Driver } from '../../contract/log.ts';
import * as assert from '../assert.ts';
import { marker } from '../drafts.ts';
import { openWork, type ReferenceSession } from '../reference/reference-store.ts';
import {
  type Action,
  comparableRecords,
  type ModelWorld,
  type Opened,
  type Pair,
  pickRecent,
  sameOutcome,
} from './model-world.ts';
import { legalDrafts, producedTurns, turnEnding } from './script.ts';

const leaseMs = 10_000;

export const open: Action = async (world, { a, b }) => {
  const [name, log] = [world.nameAt(a), pickRecent(world.logs, b)];
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

export const append: Action = async (world, { a, b }) => {
  const driver = pickRecent(world.drivers, a);
  if (driver === undefined) return 'nothing';
  return (await sameOutcome(appendScript(world, driver, 1 + (b % 12)), comparableBatch)).code;
};

/** Appends the next drafts of the script to both logs, without waiting for the results. */
export function appendScript(
  world: ModelWorld,
  driver: Opened<Driver>,
  count: number,
): Pair<Promise<Batch>> {
  const session = world.session(driver.real.session);
  if (session === undefined) return appendBoth(driver, [marker('to nobody')]);
  const script = world.nextOfScript(session, count);
  const drafts = legalDrafts(session, plausibleDrafts(session, script));
  const before = session.through;
  const issued = appendBoth(driver, drafts);
  // The reference log is synchronous, so it has already appended or refused the drafts.
  if (session.through > before || drafts.length === 0) world.noteScript(session, script.length);
  return issued;
}

/**
 * Returns only the drafts that a real driver would append. A real driver starts each turn only once, even in
 * a fork. In a finished turn, it appends only retractions.
 */
function plausibleDrafts(
  { records }: ReferenceSession,
  drafts: readonly DraftRecord[],
): readonly DraftRecord[] {
  const turnsWith = (type: Fact['type']) =>
    new Set(records.filter(({ fact }) => fact?.type === type).map(({ turn }) => turn));
  const [started, finished] = [turnsWith('turn_started'), turnsWith('turn_finished')];
  return drafts.filter(({ turn, delta, fact }) => {
    if (fact?.type === 'turn_started') return !started.has(turn);
    return !finished.has(turn) || delta?.type === 'retract_part';
  });
}

function appendBoth(
  { real, reference }: Opened<Driver>,
  drafts: readonly DraftRecord[],
): Pair<Promise<Batch>> {
  return { real: real.append(drafts), reference: reference.append(drafts) };
}

export const comparableBatch = ({ after, through, records }: Batch): unknown => ({
  after,
  through,
  records: comparableRecords(records),
});

/** An action that starts a turn in which producers write. */
export const startTurn: Action = (world, { a, b }) =>
  appendOf(world, a, ({ records }) => {
    const turn = producedTurns[b % producedTurns.length] ?? 0;
    const isNew = records.every((record) => record.turn !== turn);
    return isNew ? [{ turn, attempt: 0, fact: { type: 'turn_started' } }] : [];
  });

/** An action that finishes the open items of a turn and the turn itself. */
export const endTurn: Action = (world, { a, b }) =>
  appendOf(world, a, (session) => {
    const turns = [...openWork(session.records)].filter((work) => work.startsWith('turn '));
    const turn = Number(pickRecent(turns, b)?.slice('turn '.length) ?? 0);
    return turn === 0 ? [] : turnEnding(session, turn);
  });

export const consume: Action = (world, { a }) =>
  appendOf(world, a, ({ records }) => {
    const queued = [...openWork(records)].filter((work) => work.startsWith('command '));
    const keys = queued.map((work) => work.slice('command '.length)).slice(0, 1);
    return keys.map((key) => ({ turn: 0, attempt: 0, fact: { type: 'command_consumed', key } }));
  });

async function appendOf(
  world: ModelWorld,
  number: number,
  draftsOf: (session: ReferenceSession) => readonly DraftRecord[],
): Promise<string> {
  const driver = pickRecent(world.drivers, number);
  if (driver === undefined) return 'nothing';
  const session = world.session(driver.real.session);
  const drafts = session && legalDrafts(session, draftsOf(session));
  if (drafts === undefined || drafts.length === 0) return 'nothing';
  return (await sameOutcome(appendBoth(driver, drafts), comparableBatch)).code;
}

export const release: Action = async (world, { a }) => {
  const driver = pickRecent(world.drivers, a);
  if (driver === undefined) return 'nothing';
  const { real, reference } = driver;
  const pair = { real: real.release(), reference: reference.release() };
  return (await sameOutcome(pair, () => undefined)).code;
};

export const closeSession: Action = async (world, { a, b }) => {
  const driver = pickRecent(world.drivers, a);
  if (driver === undefined || b % 3 > 0) return 'nothing';
  const { real, reference } = driver;
  const pair = { real: real.closeSession(), reference: reference.closeSession() };
  return (await sameOutcome(pair, comparableBatch)).code;
};
