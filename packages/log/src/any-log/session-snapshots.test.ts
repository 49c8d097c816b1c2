import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  attemptOf,
  emptyState,
  foldBatch,
  isCut,
  type LogRecord,
  sessionId,
  toArray,
} from '@millrace/core';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import type { Log } from '../contract/log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { answerId, wholeItem, wholeTurn } from '../suite/drafts.ts';
import { readWholeSession } from './read-session.ts';
import { snapshotVersion } from './session-snapshots.ts';
import { SessionStates } from './session-states.ts';
import type { SessionFold } from './state-cache.ts';

const folder = mkdtempSync(join(storeTmpdir(), 'millrace-snapshots-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const session = sessionId('s');
let files = 0;
const newPath = () => join(folder, `${++files}.db`);

/** The turns of a session, and how many of them are old. Items of old turns are not needed. */
interface Turns {
  readonly finished: ReadonlySet<number>;
  readonly last: number;
}

const recentTurns = 3;

const turnFold: SessionFold<Turns> = {
  initial: { finished: new Set(), last: 0 },
  apply: (value, { turn, fact }) =>
    fact?.type === 'turn_finished'
      ? { finished: new Set(value.finished).add(turn), last: turn }
      : value,
  stored: {
    name: 'turns',
    version: 1,
    needs: ({ last }, { turn }) => turn > last - recentTurns,
    shorten: (value, has) => ({
      ...value,
      finished: new Set([...value.finished].filter((turn) => has(answerId(turn)))),
    }),
  },
};

/** Another fold, which needs fewer items, and one that is not stored. */
const lastTurnFold: SessionFold<number> = {
  initial: 0,
  apply: (last, { turn }) => Math.max(last, turn),
  stored: { name: 'last turn', version: 1, needs: (last, { turn }) => turn >= last },
};
const storedFolds = [turnFold as SessionFold<unknown>, lastTurnFold as SessionFold<unknown>];
const countFold: SessionFold<number> = {
  initial: 0,
  apply: (count, { fact }) => (fact?.type === 'turn_finished' ? count + 1 : count),
};

/** A process that begins: it has nothing in memory. */
function newProcess(log: Log, recordsPerSnapshot = 20): SessionStates {
  const states = new SessionStates(log);
  states.configure({ recordsPerSnapshot });
  return states;
}

async function appendTurns(log: Log, first: number, count: number): Promise<void> {
  // Without `from`, the driver receives all records again.
  const driver = await log.open(session, { from: (await log.info(session))?.through });
  const turns = Array.from({ length: count }, (_, index) => first + index);
  await driver.append(turns.flatMap((turn) => wholeTurn(turn, ['Sunny ', 'and ', 'warm.'])));
  await driver.release();
}

/** Folds the new records of a session as a driver does: with its own state, which it keeps at the end. */
async function drive<T>(log: Log, states: SessionStates, fold: SessionFold<T>) {
  const known = states.kept(session, fold) ?? (await states.load(session, fold));
  const { incarnation, through } = (await log.info(session)) ?? {};
  let { state, value } = known;
  let isUsable = known.incarnation === incarnation;
  while (isUsable && state.through < (through ?? 0)) {
    const page = await log.read(session, { from: state.through });
    for (const record of page.records) value = fold.apply(value, record);
    state = foldBatch(state, page).state;
    isUsable = page.records.every(({ fact }) => fact?.type !== 'item_redacted');
  }
  if (isUsable) {
    states.keep(fold, { ...known, state, value });
    await states.saved();
    return { state, value };
  }
  states.forget(session);
  return states.load(session, fold);
}

/** The fold of all records, without any snapshot. */
async function foldOfRecords(log: Log) {
  const { info, records } = await readWholeSession(log, session);
  const batch = { after: 0, through: info.through, records };
  return plain(foldBatch(emptyState(session), batch).state);
}

function plain({ items, usage, ...state }: ReturnType<typeof emptyState>) {
  return { ...state, items: toArray(items), usage: toArray(usage) };
}

/** Counts the records and the parts of snapshots that the log returns. */
function counted(log: Log) {
  const count = { records: 0, parts: 0, bytes: 0, written: 0 };
  const { snapshots } = log;
  const wrapped: Log = Object.assign(Object.create(log) as Log, {
    info: log.info.bind(log),
    read: async (...args: Parameters<Log['read']>) => {
      const page = await log.read(...args);
      count.records += page.records.length;
      return page;
    },
    snapshots: snapshots && {
      read: async (...args: Parameters<typeof snapshots.read>) => {
        const parts = await snapshots.read(...args);
        count.parts += parts.length;
        for (const { body } of parts) count.bytes += body.length;
        return parts;
      },
      write: (...args: Parameters<typeof snapshots.write>) => {
        for (const { body } of args[1].parts) count.written += body.length;
        return snapshots.write(...args);
      },
    },
  });
  return { log: wrapped, count };
}

describe('21.F: stored snapshots', () => {
  test('change nothing but time, whatever happens between them', async () => {
    const stepOf = (weight: number, type: string, maxCount: number) => ({
      weight,
      arbitrary: fc.record({
        type: fc.constant(type),
        count: fc.nat(maxCount),
        isDriver: fc.boolean(),
      }),
    });
    const step = fc.oneof(
      stepOf(5, 'turns', 40),
      stepOf(3, 'restart', 2),
      stepOf(2, 'settle', 200),
      stepOf(1, 'redact', 200),
      stepOf(1, 'damage', 200),
      stepOf(1, 'recreate', 3),
    );
    const property = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const path = newPath();
      const log = sqliteLog({ path });
      await appendTurns(log, 1, 40);
      let turns = 40;
      // Two processes that use the log in turn.
      const processes = [newProcess(log), newProcess(log)];
      for (const [index, { type, count, isDriver }] of steps.entries()) {
        const at = 1 + (count % turns);
        if (type === 'turns') {
          await appendTurns(log, turns + 1, count + 1);
          turns += count + 1;
        } else if (type === 'restart') processes[count % 2] = newProcess(log);
        else if (type === 'settle') await log.settle(session, at);
        else if (type === 'redact') await log.redact(session, answerId(at));
        else if (type === 'damage') damage(path, count);
        else {
          await log.delete(session);
          turns = 1 + 20 * count;
          await appendTurns(log, 1, turns);
        }
        const states = processes[index % 2] ?? newProcess(log);
        const expected = await foldOfRecords(log);
        const load = <T>(fold: SessionFold<T>) =>
          isDriver ? drive(log, states, fold) : states.load(session, fold);
        const { state: cut, value } = await load(turnFold);
        expect(value.last).toBe(turns);
        // The newest items are there, and each item is as it should be.
        const loaded = plain(cut);
        const skipped = expected.items.length - loaded.items.length;
        expect(loaded.items).toEqual(expected.items.slice(skipped));
        expect(loaded.items.length).toBeGreaterThanOrEqual(Math.min(turns, recentTurns));
        expect({ ...loaded, items: 0, usage: 0 }).toEqual({ ...expected, items: 0, usage: 0 });
        for (const { turn } of loaded.items) expect(value.finished.has(turn)).toBe(true);
        const last = await load(lastTurnFold);
        expect(last.value).toBe(turns);
        const recent = plain(last.state).items;
        expect(recent).toEqual(expected.items.slice(expected.items.length - recent.length));
        expect(recent.at(-1)?.turn).toBe(turns);
        if (count % 3 === 0) expect((await states.load(session, countFold)).value).toBe(turns);
        expect(plain((await states.load(session)).state)).toEqual(expected);
      }
      await log.close();
    });
    await fc.assert(property, { numRuns: runs(100) });
  });

  test('are where a new process starts: it reads few records, however many there are', async () => {
    for (const turns of [90, 450]) {
      const log = sqliteLog({ path: newPath() });
      const writer = newProcess(log, 100);
      for (let turn = 0; turn < turns; turn += 30) {
        await appendTurns(log, turn + 1, 30);
        await writer.load(session, turnFold);
      }
      const { log: watched, count } = counted(log);
      const { state } = await newProcess(watched, 100).load(session, turnFold);
      expect(toArray(state.items).length).toBeLessThan(100);
      expect(count.parts).toBeLessThan(5);
      expect(count.records).toBeLessThan(200);
      expect(count.bytes).toBeLessThan(20_000);
      await log.close();
    }
  });

  test('21.F: are as short for two writers that fold the session side by side', async () => {
    for (const turns of [96, 384]) {
      const log = sqliteLog({ path: newPath() });
      const writers = newProcess(log, 100);
      for (let turn = 0; turn < turns; turn += 12) {
        await appendTurns(log, turn + 1, 12);
        for (const fold of storedFolds) {
          const { state } = await drive(log, writers, fold);
          expect(toArray(state.items).length).toBeLessThan(150);
        }
      }
      for (const fold of storedFolds) {
        const { log: watched, count } = counted(log);
        const { state } = await newProcess(watched, 100).load(session, fold);
        expect(toArray(state.items).length).toBeLessThan(150);
        expect(count.parts).toBeLessThan(6);
        expect(count.records).toBeLessThan(400);
        expect(count.bytes).toBeLessThan(30_000);
      }
      await log.close();
    }
  });

  test('cost the same for each record to write, however long the session is', async () => {
    const log = sqliteLog({ path: newPath() });
    const { log: watched, count } = counted(log);
    const writer = newProcess(watched, 100);
    const written: number[] = [];
    for (let turn = 0; turn < 40 * 16; turn += 16) {
      await appendTurns(log, turn + 1, 16);
      await writer.load(session, turnFold);
      written.push(count.written);
    }
    const [first = 0, second = 0] = [written[9], written[19]];
    const last = written.at(-1) ?? 0;
    expect(last - (written.at(-11) ?? 0)).toBeLessThan(1.1 * (second - first));
    expect(count.records).toBe((await log.info(session))?.through);
    await log.close();
  });

  test('are not used by other versions of a fold', async () => {
    const log = sqliteLog({ path: newPath() });
    await appendTurns(log, 1, 60);
    await newProcess(log).load(session, turnFold);
    const { log: watched, count } = counted(log);
    const later = { ...turnFold, stored: { ...turnFold.stored, name: 'turns', version: 2 } };
    const { value } = await newProcess(watched).load(session, later);
    expect(value.finished.size).toBe(60);
    expect(count.records).toBe((await log.info(session))?.through);
    await log.close();
  });

  test('of a redacted item are deleted, and cannot be stored afterwards by a slow writer', async () => {
    const path = newPath();
    const log = sqliteLog({ path });
    await appendTurns(log, 1, 60);
    const { state, incarnation } = await newProcess(log).load(session);
    expect(rowsIn(path)).toBeGreaterThan(1);
    await log.redact(session, answerId(7));
    expect(rowsIn(path)).toBe(0);
    const late = { incarnation, through: state.through, first: 1 };
    const parts = [{ part: 0, body: 'Sunny' }];
    expect(await log.snapshots?.write(session, { ...late, parts })).toBe(false);
    const other = { ...late, through: state.through + 1, incarnation: 'x' };
    expect(await log.snapshots?.write(session, { ...other, parts })).toBe(false);
    expect(rowsIn(path)).toBe(0);
    await log.close();
  });

  test('21.F: without old items are not used if a later record changes one of these items', async () => {
    const log = sqliteLog({ path: newPath() });
    const states = newProcess(log);
    for (const first of [1, 31, 61]) {
      await appendTurns(log, first, 30);
      await states.load(session, turnFold);
    }
    const { state: before } = await states.load(session);
    expect(isCut((await newProcess(log).load(session, turnFold)).state.items)).toBe(true);
    const old = toArray(before.items).find(({ turn }) => turn === 5);
    const partId = old?.parts[0]?.id ?? expect.fail();
    const driver = await log.open(session, { from: before.through });
    const delta = { type: 'retract_part', partId, reason: 'edited' } as const;
    await driver.append([{ ...attemptOf(partId), delta }]);
    await driver.release();
    for (const process of [states, newProcess(log)]) {
      expect((await process.load(session, turnFold)).value.last).toBe(90);
      expect(plain((await process.load(session)).state)).toEqual(await foldOfRecords(log));
    }
    expect(plain((await newProcess(log).load(session)).state)).toEqual(await foldOfRecords(log));
    await log.close();
  });

  test('are deleted with their session', async () => {
    const path = newPath();
    const log = sqliteLog({ path });
    await appendTurns(log, 1, 60);
    await newProcess(log).load(session);
    await log.delete(session);
    expect(rowsIn(path)).toBe(0);
    await log.close();
  });

  test('of a state that is too large are refused like its records', async () => {
    const log = sqliteLog({ path: newPath() });
    await appendTurns(log, 1, 200);
    await newProcess(log).load(session, turnFold);
    const states = newProcess(log);
    states.configure({ maxSessionBytes: 40_000 });
    await expect(states.load(session)).rejects.toMatchObject({ code: 'too_large' });
    await log.open(sessionId('other')).then((driver) => driver.release());
    expect((await states.load('other')).state.through).toBe(0);
    await log.close();
  });
});

test('the state of a fixed log is the one of this version of snapshots', () => {
  const records = [
    ...wholeItem('i', { kind: 'text', text: 'Hi' }),
    ...wholeTurn(1, ['a', 'b']),
  ].map(
    (draft, index) => ({ ...draft, offset: index + 1, time: index, producer: 'p' }) as LogRecord,
  );
  const batch = { after: 0, through: records.length, records };
  const { state } = foldBatch(emptyState(session), batch);
  const sum = hash('sha1', JSON.stringify(plain(state))).slice(0, 8);
  // If this fails because the fold was changed: increase `snapshotVersion`, so that no process continues
  // with a state that an earlier program stored, and then the line below.
  expect({ version: snapshotVersion, sum }).toEqual({ version: 2, sum: 'c79c8384' });
});

function rowsIn(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const { count } = database.prepare('SELECT count(*) AS count FROM snapshots').get() ?? {};
  database.close();
  return Number(count);
}

/** Damages, swaps or deletes a part. */
function damage(path: string, choice: number): void {
  const database = new DatabaseSync(path);
  const change = [
    "UPDATE snapshots SET body = replace(body, 'Sunny', 'Rainy') WHERE part = ?",
    'DELETE FROM snapshots WHERE part = ?',
    'UPDATE snapshots SET body = (SELECT max(body) FROM snapshots) WHERE part = ?',
    'UPDATE snapshots SET body = substr(body, 1, 40) WHERE part = ?',
  ][choice % 4];
  database.prepare(change ?? '').run(choice % 5);
  database.close();
}
