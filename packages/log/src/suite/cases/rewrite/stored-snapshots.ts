import { sessionId } from '@millrace/core';
import type { Log } from '../../../contract/log.ts';
import type { SnapshotStore } from '../../../contract/snapshot-store.ts';
import * as assert from '../../assert.ts';
import { answerId, wholeTurn } from '../../drafts.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('stored');
const body = 'text with U+0000 \\u0000, 🌊 and "quotes"';

/**
 * Returns the snapshots of the log, and a function that writes a snapshot. Returns undefined if the store
 * stores no snapshots.
 */
async function prepare(log: Log) {
  const { snapshots } = log;
  if (snapshots === undefined) return undefined;
  const driver = await log.open(session);
  const { through } = await driver.append([...wholeTurn(1, ['a', 'b']), ...wholeTurn(2, ['c'])]);
  await driver.release();
  const { incarnation = '' } = (await log.info(session)) ?? {};
  const write = (first: number, parts: readonly number[], to = { incarnation, through }) =>
    snapshots.write(session, {
      ...{ ...to, first },
      parts: parts.map((part) => ({ part, body: `${body} ${first} ${part}` })),
    });
  return { snapshots, write, incarnation, through };
}

async function partsIn(snapshots: SnapshotStore, from = 0, maxBytes = 1e6) {
  const parts = await snapshots.read(session, { from, maxBytes });
  return parts.map(({ part, body: text }) => `${part}: ${text.replace(body, '').trim()}`);
}

/** Cases for stores that store snapshots. For all other stores, these cases pass without a check. */
export const storedSnapshotCases: readonly CaseSpec[] = [
  {
    name: 'stored snapshots: parts are added and replaced, and read in pages',
    async run({ log }) {
      const { snapshots, write } = (await prepare(log)) ?? {};
      if (snapshots === undefined || write === undefined) return;
      assert.deepEqual(await partsIn(snapshots), []);
      assert.equal(await write(1, [0, 1, 2, 3]), true);
      assert.equal(await write(4, [0, 4]), true);
      assert.deepEqual(await partsIn(snapshots), [
        '0: 4 0',
        '1: 1 1',
        '2: 1 2',
        '3: 1 3',
        '4: 4 4',
      ]);
      assert.deepEqual(await partsIn(snapshots, 3), ['3: 1 3', '4: 4 4']);
      assert.deepEqual(await partsIn(snapshots, 1, 1), ['1: 1 1']);
      assert.equal(await write(2, [0, 2]), true);
      assert.deepEqual(await partsIn(snapshots), ['0: 2 0', '1: 1 1', '2: 2 2']);
      assert.deepEqual(await snapshots.read('other', { from: 0, maxBytes: 1e6 }), []);
    },
  },
  {
    name: 'stored snapshots: of another incarnation, or of later records, are refused',
    async run({ log }) {
      const { snapshots, write, incarnation, through } = (await prepare(log)) ?? {};
      if (snapshots === undefined || incarnation === undefined || through === undefined) return;
      assert.equal(await write?.(1, [0], { incarnation: `${incarnation}x`, through }), false);
      assert.equal(await write?.(1, [0], { incarnation, through: through + 1 }), false);
      assert.deepEqual(await partsIn(snapshots), []);
    },
  },
  {
    name: 'stored snapshots: a redaction deletes them and refuses those from before it',
    async run({ log }) {
      const { snapshots, write } = (await prepare(log)) ?? {};
      if (snapshots === undefined || write === undefined) return;
      assert.equal(await write(1, [0, 1]), true);
      assert.equal(await log.settle(session, 1), true);
      assert.equal((await partsIn(snapshots)).length, 2);
      await log.redact(session, answerId(2));
      assert.deepEqual(await partsIn(snapshots), []);
      assert.equal(await write(1, [0, 1]), false);
      assert.deepEqual(await partsIn(snapshots), []);
    },
  },
  {
    name: 'stored snapshots: are deleted with the session',
    async run({ log }) {
      const { snapshots, write } = (await prepare(log)) ?? {};
      if (snapshots === undefined || write === undefined) return;
      assert.equal(await write(1, [0, 1]), true);
      await log.delete(session);
      await (await log.open(session)).release();
      assert.deepEqual(await partsIn(snapshots), []);
      assert.equal(await write(1, [0, 1]), false);
    },
  },
];
