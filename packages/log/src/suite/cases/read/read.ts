import { encodeRecord, itemId, sessionId } from '@millrace/core';
import * as assert from '../../assert.ts';
import { marker, markers } from '../../drafts.ts';
import { expectFollowRefusal, expectRefusal } from '../../expectations.ts';
import { readAll, readBatches } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const nowhere = sessionId('nowhere');

export const readCases: readonly CaseSpec[] = [
  {
    name: 'read: returns the records after an offset, and none after the last',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(2));
      const { records } = await driver.append(markers(3));
      assert.deepEqual(await log.read(session, { from: 2 }), { after: 2, through: 5, records });
      assert.deepEqual(await log.read(session, { from: 3 }), {
        after: 3,
        through: 5,
        records: records.slice(1),
      });
      assert.deepEqual(await log.read(session, { from: 5 }), { after: 5, through: 5, records: [] });
    },
  },
  {
    name: 'read: a session without records returns an empty batch',
    async run({ log }) {
      await log.open(session);
      assert.deepEqual(await log.read(session), { after: 0, through: 0, records: [] });
    },
  },
  {
    name: 'read: pages have about the requested size, are never empty, and join without gaps or overlaps',
    async run({ log }) {
      const driver = await log.open(session);
      const text = 'x'.repeat(1000);
      for (let batch = 0; batch < 20; batch++)
        await driver.append([marker(text), marker(`${batch}${text}`)]);
      const all = await readAll(log, session);
      assert.equal(all.length, 40);
      for (const maxBytes of [1, 5000, 1_000_000]) {
        const pages = await readBatches(log, session, { maxBytes });
        assert.deepEqual(
          pages.flatMap(({ records }) => records),
          all,
        );
        assert.ok(pages.every(({ records }) => records.length > 0));
        const largest = Math.max(
          ...pages.map(({ records }) => records.map(encodeRecord).join('').length),
        );
        // The limit is approximate: a page may exceed it by one stored chunk.
        if (maxBytes === 5000) assert.ok(largest < 4 * maxBytes, `${largest} for ${maxBytes}`);
      }
    },
  },
  {
    name: 'read: an offset that never existed is refused by every operation',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(3));
      await driver.release();
      for (const from of [4, 99, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        const error = await expectRefusal('bad_offset', log.read(session, { from }));
        assert.equal(error.place['session'], session);
        assert.equal(error.place['through'], 3);
        await expectFollowRefusal('bad_offset', log.follow(session, { from }));
        await expectRefusal('bad_offset', log.open(session, { from }));
        await expectRefusal('bad_offset', log.fork(session, { into: nowhere, through: from }));
      }
      await expectRefusal('bad_offset', log.open(nowhere, { from: 1 }));
      assert.equal(await log.info(nowhere), undefined);
      // None of the refused calls took the lease.
      assert.equal((await log.info(session))?.lease, undefined);
    },
  },
  {
    name: 'read: a cursor of an earlier session with the same id is refused, and one of this session is not',
    async run({ log }) {
      await (await log.open(session)).append(markers(3));
      const { incarnation = '' } = (await log.info(session)) ?? {};
      assert.ok(/^[0-9a-z]{1,32}$/.test(incarnation));
      assert.equal((await log.read(session, { from: 2, incarnation })).through, 3);
      assert.equal((await log.list())[0]?.incarnation, incarnation);
      await log.fork(session, { into: nowhere, through: 3 });
      assert.ok((await log.info(nowhere))?.incarnation !== incarnation);
      await log.delete(session);
      await expectRefusal('rewound', log.open(session, { from: 2, incarnation }));
      assert.equal(await log.info(session), undefined);
      await (await log.open(session)).append(markers(5));
      await expectRefusal('rewound', log.read(session, { from: 2, incarnation }));
      await expectFollowRefusal('rewound', log.follow(session, { from: 2, incarnation }));
      await expectRefusal('rewound', log.open(session, { from: 2, incarnation, takeOver: true }));
      assert.equal((await log.read(session, { from: 2 })).through, 5);
    },
  },
  {
    name: 'read: a missing session is refused and not created',
    async run({ log }) {
      await expectRefusal('no_session', log.read(nowhere));
      await expectFollowRefusal('no_session', log.follow(nowhere));
      await expectRefusal('no_session', log.settle(nowhere, 1));
      await expectRefusal('no_session', log.fork(nowhere, { into: session, through: 0 }));
      const error = await expectRefusal('no_session', log.redact(nowhere, itemId('i')));
      assert.equal(error.place['session'], nowhere);
      assert.equal(await log.info(nowhere), undefined);
      assert.deepEqual(await log.list(), []);
    },
  },
];
