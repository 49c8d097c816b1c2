import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { answerId, wholeTurn } from '../suite/drafts.ts';
import { SessionStates } from './session-states.ts';
import { storedValue, storeValue } from './stored-value.ts';

const session = sessionId('s');
const fold = { name: 'mine', version: 2 } as const;
const folder = mkdtempSync(join(storeTmpdir(), 'millrace-values-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let log: Log;
let files = 0;
beforeEach(() => {
  log = sqliteLog({ path: join(folder, `${++files}.db`) });
  onTestFinished(() => log.close());
});

/** A process that has nothing in memory. */
function newProcess(): SessionStates {
  const states = new SessionStates(log);
  states.configure({ recordsPerSnapshot: 20 });
  return states;
}

/** Appends turns, and stores a snapshot of the session. Returns its incarnation and its last offset. */
async function appendTurns(first: number, count: number) {
  const driver = await log.open(session, { from: (await log.info(session))?.through });
  const turns = Array.from({ length: count }, (_, index) => first + index);
  await driver.append(turns.flatMap((turn) => wholeTurn(turn, ['Sunny ', 'and ', 'warm.'])));
  await driver.release();
  const states = newProcess();
  const { state, incarnation } = await states.load(session);
  await states.saved();
  return { through: state.through, incarnation };
}

test('a value is stored beside the snapshot, for the next process and through later snapshots', async () => {
  const at = await appendTurns(1, 20);
  const value = { sum: new Map([['a', 1]]), names: new Set(['b']) };
  expect(await storedValue(log, session, fold)).toBeUndefined();
  expect(await storeValue(log, session, fold, { ...at, value })).toBe(true);
  await appendTurns(21, 30);
  expect(await storedValue(log, session, fold)).toEqual({ ...at, value });
  expect(await storedValue(log, session, { ...fold, version: 3 })).toBeUndefined();
});

test('a value that is stored while a snapshot is written does not get lost', async () => {
  const at = await appendTurns(1, 20);
  await appendTurns(21, 5);
  const states = newProcess();
  await Promise.all([storeValue(log, session, fold, { ...at, value: 1 }), states.load(session)]);
  await states.saved();
  expect(await storedValue(log, session, fold)).toEqual({ ...at, value: 1 });
});

test('a redaction removes a value, and a value from before it is not stored again', async () => {
  const at = await appendTurns(1, 20);
  await storeValue(log, session, fold, { ...at, value: 'secret' });
  await log.redact(session, answerId(3));
  expect(await storedValue(log, session, fold)).toBeUndefined();
  await appendTurns(21, 20);
  expect(await storeValue(log, session, fold, { ...at, value: 'secret' })).toBe(false);
  expect(await storedValue(log, session, fold)).toBeUndefined();
});

test('a value is not stored for another incarnation, or without a snapshot', async () => {
  const at = await appendTurns(1, 20);
  const value = 1;
  expect(await storeValue(log, session, fold, { ...at, incarnation: 'x', value })).toBe(false);
  await log.delete(session);
  expect(await storeValue(log, session, fold, { ...at, value })).toBe(false);
  expect(await storedValue(log, session, fold)).toBeUndefined();
  const memory = memoryLog();
  expect(await storeValue(memory, session, fold, { ...at, value })).toBe(false);
  await memory.close();
});
