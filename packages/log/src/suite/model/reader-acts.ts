import type { Act } from './act.ts';
import { pick } from './pick.ts';
import { CutReader, UncutReader } from './readers.ts';

const maxUncut = 3;

export const follow: Act = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pick(world.logs, b)];
  const known = pick(world.cutReaders, b >> 1);
  if (session === undefined || log === undefined) return 'nothing';
  const isKnown = known !== undefined && world.isThere(known.session) && b % 4 > 0;
  const reader = isKnown ? known : new CutReader(session);
  if (!isKnown) world.cutReaders.push(reader);
  await reader.read(log.real, 1 + (b % 2));
  return isKnown ? 'on' : 'done';
};

export const watch: Act = async (world, { a, b }) => {
  const [session, log] = [world.sessionAt(a), pick(world.logs, b)];
  const isEnough = world.uncutReaders.length >= maxUncut;
  if (session === undefined || log === undefined || isEnough) return 'nothing';
  world.uncutReaders = [...world.uncutReaders, new UncutReader(log.real, session)];
  return 'done';
};

/** Closes a log and opens another in its place, on the same store. */
export const reopen: Act = async (world, { a }) => {
  const log = pick(world.logs, a);
  if (log === undefined || !world.options.isDurable) return 'nothing';
  await Promise.all([log.real.close(), log.reference.close()]);
  for (const reader of world.uncutReaders)
    if (reader.log === log.real) await reader.checkEnd(false);
  world.uncutReaders = world.uncutReaders.filter((reader) => reader.log !== log.real);
  world.logs[world.logs.indexOf(log)] = await world.openLog();
  return 'done';
};

export const jump: Act = async ({ options: { clock } }, { a }) => {
  clock.jump([4000, 7000, 10_000, -3000][a % 4] ?? 0);
  return 'done';
};
