import { sessionId } from '@millrace/core';
import { retain } from '../../../any-log/retain.ts';
import type { Log } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import { marker, turnStarted, wholeTurn } from '../../drafts.ts';
import { readAll, summaryOfLog } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const [old, other] = [sessionId('old'), sessionId('other')];

/** Returns the turns that still have deltas. */
async function turnsWithDeltas(log: Log): Promise<readonly number[]> {
  const records = await readAll(log, old);
  return [...new Set(records.flatMap(({ turn, delta }) => (delta === undefined ? [] : turn)))];
}

export const retainCases: readonly CaseSpec[] = [
  {
    name: 'retain: keeps the deltas of the last turns, settles earlier finished turns, and does not change the folded state',
    async run({ log }) {
      const driver = await log.open(old);
      for (const turn of [1, 2, 3]) await driver.append(wholeTurn(turn, ['a', 'b']));
      const before = await summaryOfLog(log, old);
      const nothing = { settledTurns: 0, deletedSessions: 0 };
      assert.deepEqual(await retain(log, {}), nothing);
      assert.deepEqual(await retain(log, { turnsWithDeltas: 3 }), nothing);
      assert.deepEqual(await retain(log, { turnsWithDeltas: 1 }), { ...nothing, settledTurns: 2 });
      assert.deepEqual(await turnsWithDeltas(log), [3]);
      assert.deepEqual(await retain(log, { turnsWithDeltas: 1 }), nothing);
      await driver.append([turnStarted(4)]);
      assert.deepEqual(await retain(log, { turnsWithDeltas: 0 }), { ...nothing, settledTurns: 1 });
      assert.deepEqual((await summaryOfLog(log, old)).items, before.items);
    },
  },
  {
    name: 'retain: deletes sessions without recent changes, open or closed',
    async run({ log, clock }) {
      await (await log.open(old)).release();
      await (await log.open(other)).closeSession();
      await clock.advance(1000);
      const recent = sessionId('recent');
      await (await log.open(recent)).release();
      const { deletedSessions } = await retain(log, { changedBefore: clock.now() });
      assert.equal(deletedSessions, 2);
      assert.deepEqual(
        (await log.list()).map(({ session }) => session),
        [recent],
      );
    },
  },
  {
    name: 'retain: keeps sessions with a driver or open work',
    async run({ log, clock }) {
      const driver = await log.open(old, { leaseMs: Number.POSITIVE_INFINITY });
      await driver.append([marker('still here')]);
      await log.submit(other, {}, 'waits');
      await clock.advance(1000);
      const kept = { settledTurns: 0, deletedSessions: 0 };
      assert.deepEqual(await retain(log, { changedBefore: clock.now() }), kept);
      await driver.append([marker('and still')]);
      assert.equal((await log.list()).length, 2);
    },
  },
  {
    name: 'retain: keeps a session that was changed after it was listed',
    async run({ log, clock }) {
      await (await log.open(old)).release();
      await clock.advance(1000);
      // A client opens the session after it was listed and before it is deleted.
      const delayed = new Proxy(log, {
        get(target, name) {
          if (name === 'list')
            return async (...args: Parameters<Log['list']>) => {
              const found = await target.list(...args);
              await target.submit(old, {}, 'just now');
              return found;
            };
          const value = Reflect.get(target, name) as unknown;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const { deletedSessions } = await retain(delayed, { changedBefore: clock.now() });
      assert.equal(deletedSessions, 0);
      assert.equal((await log.info(old))?.through, 1);
    },
  },
  {
    name: 'retain: processes any number of sessions',
    async run({ log, clock }) {
      const ids = Array.from({ length: 250 }, (_, index) => sessionId(`session ${index}`));
      for (const id of ids) await (await log.open(id)).release();
      await clock.advance(1);
      assert.equal((await retain(log, { changedBefore: clock.now() })).deletedSessions, 250);
      assert.deepEqual(await log.list(), []);
    },
  },
  {
    name: 'retain: refuses an invalid policy',
    async run({ log }) {
      for (const turnsWithDeltas of [-1, Number.NaN])
        await assert.rejects(retain(log, { turnsWithDeltas }), { code: 'bad_option' });
    },
  },
];
