import { itemId, sessionId } from '@millrace/core';
import * as assert from '../../assert.ts';
import { marker, markers } from '../../drafts.ts';
import { expectFollowRefusal, expectRefusal } from '../../expectations.ts';
import { Follower, offsets } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');

export const closingCases: readonly CaseSpec[] = [
  {
    name: 'closed session: refuses appends and can still be read',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(2));
      await log.submit(session, {}, 'k');
      const last = await driver.closeSession();
      assert.deepEqual([last.after, last.through, last.records.length], [2, 3, 1]);
      await expectRefusal('session_closed', driver.append([marker('late')]));
      await expectRefusal('session_closed', driver.closeSession());
      await expectRefusal('session_closed', driver.admit({ for: 'request', turn: 1 }));
      const error = await expectRefusal('session_closed', log.open(session));
      assert.equal(error.place['session'], session);
      await expectRefusal('session_closed', log.open(session, { takeOver: true }));
      await expectRefusal('session_closed', log.submit(session, {}, 'new'));
      const { isClosed, lease, hasWork } = { ...(await log.info(session)) };
      assert.deepEqual([isClosed, lease, hasWork], [true, undefined, false]);
      assert.deepEqual(await offsets(log, session), [1, 2, 3]);
      await driver.release();
      assert.equal((await log.info(session))?.isClosed, true);
    },
  },
  {
    name: 'closed session: is closed after reopening the store',
    needsDurable: true,
    async run({ log, another }) {
      const driver = await log.open(session);
      await driver.append(markers(2));
      const other = await another();
      await driver.closeSession();
      await expectRefusal('session_closed', other.open(session));
      await log.close();
      await expectRefusal('session_closed', (await another()).open(session));
    },
  },
  {
    name: 'closed log: refuses every operation',
    async run({ log }) {
      const driver = await log.open(session);
      const admission = await driver.admit({ for: 'request', turn: 1 });
      const producer = await log.produce(admission);
      const { hash } = await log.blobs.put(Uint8Array.of(1));
      await log.close();
      await log.close();
      for (const attempt of [
        () => log.open(session),
        () => log.produce(admission),
        () => log.submit(session, {}, 'k'),
        () => log.findCommand(session, 'k'),
        () => log.read(session),
        () => log.info(session),
        () => log.list(),
        () => log.settle(session, 1),
        () => log.fork(session, { into: sessionId('t'), through: 0 }),
        () => log.redact(session, itemId('i')),
        () => log.delete(session),
        () => log.blobs.put(Uint8Array.of(2)),
        () => log.blobs.get(hash),
        () => log.blobs.slice(hash, 0, 1),
        () => driver.append([marker('late')]),
        () => driver.admit({ for: 'request', turn: 1 }),
        () => driver.closeSession(),
        () => producer.append([], 1),
      ])
        await expectRefusal('closed', attempt());
      await expectFollowRefusal('closed', log.follow(session));
      await driver.release();
    },
  },
  {
    name: 'closed log: `lost` of its drivers resolves, and queued appends are stored',
    async run({ log }) {
      const driver = await log.open(session);
      const follower = new Follower(log, session);
      const appends = markers(10).map((draft) => driver.append([draft]));
      await log.close();
      assert.equal((await Promise.all(appends)).at(-1)?.through, 10);
      const error = await driver.lost;
      assert.equal((error as { code?: string }).code, 'closed');
      await assert.rejects(follower.step(), { code: 'closed' });
    },
  },
  {
    name: 'closed log: returns its leases',
    needsDurable: true,
    async run({ log, another }) {
      const other = await another();
      const infinite = sessionId('infinite');
      const driver = await log.open(session);
      await log.open(infinite, { leaseMs: Number.POSITIVE_INFINITY });
      await driver.append([marker('first')]);
      const taken = await log.open(sessionId('taken'));
      const taker = await other.open(sessionId('taken'), { takeOver: true });
      await log.close();
      await other.open(session);
      await other.open(infinite);
      assert.equal((await taken.lost).name.length > 0, true);
      assert.equal((await taker.append([marker('mine')])).through, 1);
    },
  },
];
