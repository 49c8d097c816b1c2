import { sessionId } from '@millrace/core';
import { snapshot } from '../../../any-log/snapshot.ts';
import * as assert from '../../assert.ts';
import { marker, wholeTurn } from '../../drafts.ts';
import { Follower, foldedSummary, readAll, summaryOf } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('folded');
const turns = [...wholeTurn(1, ['a', 'b', 'c']), marker('between'), ...wholeTurn(2, ['d', 'e'])];

export const snapshotCases: readonly CaseSpec[] = [
  {
    name: 'snapshot: equals the fold of the log at any record',
    async run({ log }) {
      await (await log.open(session)).append(turns);
      const records = await readAll(log, session);
      for (let through = 0; through <= records.length; through++) {
        const batch = { after: 0, through, records: records.slice(0, through) };
        const state = await snapshot(log, session, { through });
        assert.deepEqual(summaryOf(state), foldedSummary(session, through === 0 ? [] : [batch]));
      }
      assert.equal((await snapshot(log, session)).through, turns.length);
    },
  },
  {
    name: 'snapshot: following from it gives the same state as following from the start',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(turns);
      const state = await snapshot(log, session, { through: 4 });
      await driver.append(wholeTurn(3, ['f']));
      await driver.closeSession();
      const late = await new Follower(log, state, { until: 'closed' }).end();
      const early = await new Follower(log, session, { until: 'closed' }).end();
      assert.deepEqual(summaryOf(late.folder.state), summaryOf(early.folder.state));
    },
  },
  {
    name: "snapshot: inside a settled turn it is refused; at the turn's end it is unchanged",
    async run({ log }) {
      await (await log.open(session)).append(turns);
      const before = summaryOf(await snapshot(log, session));
      assert.equal(await log.settle(session, 1), true);
      assert.deepEqual(summaryOf(await snapshot(log, session)), before);
      await assert.rejects(snapshot(log, session, { through: 4 }), { code: 'bad_offset' });
      assert.equal((await snapshot(log, session, { through: 9 })).through, 9);
    },
  },
  {
    name: 'snapshot: a missing session or offset is refused',
    async run({ log }) {
      await assert.rejects(snapshot(log, session), { code: 'no_session' });
      await log.open(session);
      for (const through of [-1, 1, 0.5, Number.NaN])
        await assert.rejects(snapshot(log, session, { through }), { code: 'bad_offset' });
    },
  },
];
