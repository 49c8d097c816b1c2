import { itemId } from '@millrace/core';
import * as assert from '../assert.ts';
import { summaryOf } from '../follower.ts';
import { type Action, comparableInfo, pickRecent, sameOutcome } from './model-world.ts';
import { CutReader, UncutReader } from './readers.ts';
import { stateOf } from './script.ts';

export const submit: Action = async (world, { a, b }) => {
  const [name, log] = [world.nameAt(a), pickRecent(world.logs, b)];
  if (log === undefined) return 'nothing';
  const [command, key] = [{ n: b }, `k${b % 5}`];
  const pair = {
    real: log.real.submit(name, command, key),
    reference: log.reference.submit(name, command, key),
  };
  const { values, code } = await sameOutcome(pair, (submitted) => submitted);
  const found = {
    real: log.real.findCommand(name, key),
    reference: log.reference.findCommand(name, key),
  };
  await sameOutcome(found, (one) => one);
  return values?.real.isRepeat ? 'repeat' : code;
};

export const settle: Action = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pickRecent(world.logs, b)];
  if (session === undefined || log === undefined) return 'nothing';
  const { records } = session;
  const finished = records.filter(({ fact }) => fact?.type === 'turn_finished');
  const meant = b % 4 > 0 && finished.length > 0 ? finished : records;
  const turn = pickRecent([...new Set(meant.map((record) => record.turn))], b) ?? 7;
  const before = summaryOf(stateOf(session));
  const pair = {
    real: log.real.settle(session.session, turn),
    reference: log.reference.settle(session.session, turn),
  };
  const { values, code } = await sameOutcome(pair, (isDone) => isDone);
  assert.deepEqual(summaryOf(stateOf(session)), before);
  return values?.real ? 'done' : `${code} nothing`;
};

export const fork: Action = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pickRecent(world.logs, b)];
  const into = pickRecent(world.names, b >> 2);
  if (session === undefined || into === undefined || log === undefined) return 'nothing';
  const options = { into, through: (b >> 3) % (session.through + 2) };
  const pair = {
    real: log.real.fork(session.session, options),
    reference: log.reference.fork(session.session, options),
  };
  const { values, code } = await sameOutcome(pair, comparableInfo);
  const copy = world.session(into);
  if (values !== undefined && copy !== undefined) world.noteFork(session, copy, options.through);
  return code;
};

export const redact: Action = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pickRecent(world.logs, b)];
  if (session === undefined || log === undefined) return 'nothing';
  const items = session.records.flatMap(({ fact }) =>
    fact?.type === 'item_started' ? fact.itemId : [],
  );
  const item = (b % 8 > 0 ? items[b % Math.max(1, items.length)] : undefined) ?? itemId('nobody');
  const before = session.through;
  const pair = {
    real: log.real.redact(session.session, item),
    reference: log.reference.redact(session.session, item),
  };
  const { code } = await sameOutcome(pair, () => undefined);
  return code === 'done' && session.through === before ? 'superseded' : code;
};

export const remove: Action = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pickRecent(world.logs, b)];
  if (session === undefined || log === undefined || b % 3 > 0) return 'nothing';
  const pair = {
    real: log.real.delete(session.session),
    reference: log.reference.delete(session.session),
  };
  const { code } = await sameOutcome(pair, () => undefined);
  for (const reader of world.uncutReaders)
    if (reader.session === session) await reader.checkEnd(true);
  world.uncutReaders = world.uncutReaders.filter((reader) => reader.session !== session);
  return code;
};

export const list: Action = async (world, { a, b }) => {
  const log = pickRecent(world.logs, a);
  if (log === undefined) return 'nothing';
  const filter = {
    isWaiting: [undefined, true, false][b % 3],
    isClosed: [undefined, true, false][(b >> 2) % 3],
    limit: b % 4 === 0 ? 1 : undefined,
    after: b % 5 === 0 ? pickRecent(world.names, b) : undefined,
  };
  const pair = { real: log.real.list(filter), reference: log.reference.list(filter) };
  return (await sameOutcome(pair, (infos) => infos.map(comparableInfo))).code;
};

/** Deletes all sessions, so that the store is empty for the next run. */
export async function removeAll({ names, logs }: Parameters<Action>[0]): Promise<void> {
  for (const name of names) await logs[0]?.real.delete(name);
}

const maxUncut = 3;

export const follow: Action = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pickRecent(world.logs, b)];
  const known = pickRecent(world.cutReaders, b >> 1);
  if (session === undefined || log === undefined) return 'nothing';
  const isKnown = known !== undefined && world.isThere(known.session) && b % 4 > 0;
  const reader = isKnown ? known : new CutReader(session);
  if (!isKnown) world.cutReaders.push(reader);
  await reader.read(log.real, 1 + (b % 2));
  return isKnown ? 'on' : 'done';
};

export const watch: Action = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pickRecent(world.logs, b)];
  const isEnough = world.uncutReaders.length >= maxUncut;
  if (session === undefined || log === undefined || isEnough) return 'nothing';
  world.uncutReaders = [...world.uncutReaders, new UncutReader(log.real, session)];
  return 'done';
};

/** Closes a log and opens a new log on the same store. */
export const reopen: Action = async (world, { a }) => {
  const log = pickRecent(world.logs, a);
  if (log === undefined || !world.options.isDurable) return 'nothing';
  await Promise.all([log.real.close(), log.reference.close()]);
  for (const reader of world.uncutReaders)
    if (reader.log === log.real) await reader.checkEnd(false);
  world.uncutReaders = world.uncutReaders.filter((reader) => reader.log !== log.real);
  world.logs[world.logs.indexOf(log)] = await world.openLog();
  return 'done';
};

export const jump: Action = async ({ options: { clock } }, { a }) => {
  clock.jump([4000, 7000, 10_000, -3000][a % 4] ?? 0);
  return 'done';
};
