import * as assert from '../assert.ts';
import {
  append,
  closeSession,
  consume,
  endTurn,
  open,
  release,
  startTurn,
} from './driver-actions.ts';
import {
  type Action,
  type ActionNumbers,
  codeOfLoss,
  type ModelOptions,
  ModelWorld,
} from './model-world.ts';
import { admit, burst, produce, write } from './producer-actions.ts';
import {
  follow,
  fork,
  jump,
  list,
  redact,
  remove,
  removeAll,
  reopen,
  settle,
  submit,
  watch,
} from './session-actions.ts';

const rare = { closeSession, consume, fork, jump, list, release, remove, reopen, watch };
const common = { admit, burst, endTurn, follow, open, produce, redact, settle, startTurn, submit };
const frequent = { append, endTurn, settle, write };
const actions: readonly (readonly [string, Action])[] = [
  rare,
  common,
  common,
  frequent,
  frequent,
].flatMap((some) => Object.entries(some));
/** Actions that create a driver and a producer, so that the random steps can have an effect. */
const openingActions: readonly Action[] = [open, startTurn, admit, produce];

/** One random step: the index of the action, and two numbers that select its arguments. */
export type ModelStep = readonly [number, number, number];

/**
 * Runs random steps in a log and in the reference log. Rejects if the two differ in an outcome, a record, a
 * session's info, or the final state of any follower. Returns the outcome of each step, so that a test can
 * check the coverage.
 *
 * @example await checkModel({ store, isDurable: false, clock, name: 'run 1', script }, steps);
 */
export async function checkModel(
  options: ModelOptions,
  steps: readonly ModelStep[],
  report: (what: string) => void = () => {},
): Promise<void> {
  const world = new ModelWorld(options);
  try {
    for (let count = options.isDurable ? 2 : 1; count > 0; count--)
      world.logs.push(await world.openLog());
    for (const act of openingActions) await act(world, { a: 1, b: 2 });
    for (const [which, a, b] of steps) await takeStep(world, which, { a, b }, report);
    for (const log of world.logs) for (const name of world.names) await world.check(name, log);
    await checkReaders(world);
    for (const { real, reference } of world.drivers)
      assert.equal(await codeOfLoss(real.lost), await codeOfLoss(reference.lost));
  } finally {
    await removeAll(world);
    for (const { real } of world.logs) await real.close();
  }
}

async function takeStep(
  world: ModelWorld,
  which: number,
  numbers: ActionNumbers,
  report: (what: string) => void,
): Promise<void> {
  const [name, act] = actions[which % actions.length] ?? [];
  if (name === undefined || act === undefined) return;
  const end = await act(world, numbers);
  report(`${name}: ${end}`);
  const log = world.logs[numbers.b % world.logs.length];
  if (end !== 'nothing' && log !== undefined) await world.checkChanged(log);
}

async function checkReaders(world: ModelWorld): Promise<void> {
  const [log] = world.logs;
  for (const reader of world.cutReaders)
    if (log !== undefined && world.isThere(reader.session)) await reader.check(log.real);
  for (const reader of world.uncutReaders) await reader.check();
}

/**
 * Outcomes that a thousand random runs must reach. If an outcome is missing, the random runs do not cover
 * enough.
 */
export const requiredOutcomes: readonly string[] = [
  'admit: done',
  'admit: fenced',
  'append: done',
  'append: fenced',
  'append: no_session',
  'append: session_closed',
  'burst: done',
  'burst: done and fenced',
  'closeSession: done',
  'consume: done',
  'endTurn: done',
  'follow: done',
  'follow: on',
  'fork: bad_offset',
  'fork: done',
  'fork: session_exists',
  'open: bad_offset',
  'open: by force',
  'open: done',
  'open: held',
  'open: session_closed',
  'produce: again',
  'produce: done',
  'produce: fenced',
  'redact: bad_option',
  'redact: bad_records',
  'redact: done',
  'redact: superseded',
  'release: done',
  'remove: done',
  'settle: done',
  'settle: done nothing',
  'submit: done',
  'submit: repeat',
  'submit: session_closed',
  'watch: done',
  'write: bad_records',
  'write: bad_sequence',
  'write: done',
  'write: fenced',
  'write: repeat',
];
