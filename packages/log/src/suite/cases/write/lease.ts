import { sessionId } from '@millrace/core';
import type { Driver, Log } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import { marker, markers } from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import { offsets } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const leaseMs = 30_000;
const open = (log: Log, holder: string, takeOver = false): Promise<Driver> =>
  log.open(session, { holder, leaseMs, takeOver });

export const leaseCases: readonly CaseSpec[] = [
  {
    name: 'lease: a session has one driver; a second open is refused with the holder and the epoch',
    async run({ log }) {
      const ada = await open(log, 'ada');
      const error = await expectRefusal('held', open(log, 'bob'));
      assert.equal(error.place['holder'], 'ada');
      assert.equal(error.place['epoch'], ada.epoch);
      assert.match(error.message, /ada/);
      assert.match(error.message, new RegExp(`\\b${ada.epoch}\\b`));
      assert.deepEqual((await ada.append([marker('on')])).through, 1);
    },
  },
  {
    name: 'lease: of several concurrent opens exactly one succeeds',
    async run({ log }) {
      const names = ['ada', 'bob', 'cyd', 'dan'];
      const tries = await Promise.allSettled(names.map((name) => open(log, name)));
      assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1);
    },
  },
  {
    name: 'lease: info shows the epoch of the last driver after its release',
    async run({ log }) {
      await log.submit(session, { type: 'wait' }, 'k');
      assert.equal((await log.info(session))?.epoch, 0);
      const first = await log.open(session);
      await first.release();
      assert.equal((await log.info(session))?.epoch, first.epoch);
      const second = await log.open(session);
      assert.equal((await log.info(session))?.epoch, second.epoch);
      assert.ok(second.epoch > first.epoch);
    },
  },
  {
    name: 'lease: info shows the holder and the expiry',
    async run({ log, clock }) {
      const { epoch } = await open(log, 'ada');
      const expiresAt = clock.now() + leaseMs;
      assert.deepEqual((await log.info(session))?.lease, { holder: 'ada', epoch, expiresAt });
    },
  },
  {
    name: 'lease: epochs rise with each driver',
    async run({ log, clock }) {
      const epochs: number[] = [];
      for (const name of ['ada', 'bob']) {
        const driver = await open(log, name);
        epochs.push(driver.epoch);
        await driver.release();
      }
      epochs.push((await open(log, 'cyd')).epoch);
      epochs.push((await open(log, 'dan', true)).epoch);
      clock.jump(leaseMs);
      epochs.push((await open(log, 'eve')).epoch);
      assert.deepEqual(
        epochs,
        [...new Set(epochs)].sort((a, b) => a - b),
      );
    },
  },
  {
    name: 'lease: expires if its holder does not renew it',
    async run({ log, clock }) {
      await open(log, 'ada');
      clock.jump(leaseMs - 1);
      await expectRefusal('held', open(log, 'bob'));
      clock.jump(1);
      await open(log, 'bob');
      assert.equal((await log.info(session))?.lease?.holder, 'bob');
    },
  },
  {
    name: 'lease: an append renews it',
    async run({ log, clock }) {
      const ada = await open(log, 'ada');
      for (const draft of markers(5)) {
        clock.jump(leaseMs - 1);
        await ada.append([draft]);
      }
      await expectRefusal('held', open(log, 'bob'));
    },
  },
  {
    name: 'lease: a living holder keeps it without appending',
    async run({ log, clock }) {
      const ada = await open(log, 'ada');
      await clock.advance(10 * leaseMs);
      await expectRefusal('held', open(log, 'bob'));
      assert.equal((await ada.append([marker('on')])).through, 1);
    },
  },
  {
    name: 'lease: an expired lease that was not taken continues with the next append',
    async run({ log, clock }) {
      const ada = await open(log, 'ada');
      clock.jump(3 * leaseMs);
      assert.equal((await ada.append([marker('late')])).through, 1);
      await expectRefusal('held', open(log, 'bob'));
    },
  },
  {
    name: 'lease: a takeover fences the holder, which can store nothing more',
    async run({ log }) {
      const ada = await open(log, 'ada');
      await ada.append([marker('before')]);
      const bob = await open(log, 'bob', true);
      const error = await expectRefusal('fenced', ada.append(markers(3)));
      assert.equal(error.place['session'], session);
      await expectRefusal('fenced', ada.append([]));
      await expectRefusal('fenced', ada.closeSession());
      await expectRefusal('fenced', ada.admit({ for: 'request', turn: 1 }));
      assert.deepEqual(await offsets(log, session), [1]);
      assert.equal((await log.info(session))?.isClosed, false);
      assert.equal((await bob.append([marker('after')])).through, 2);
    },
  },
  {
    name: 'lease: a holder that was paused past the expiry is fenced, and its `lost` resolves',
    async run({ log, clock }) {
      const ada = await open(log, 'ada');
      clock.jump(2 * leaseMs);
      const bob = await open(log, 'bob');
      await clock.advance(leaseMs);
      const lost = await ada.lost;
      assert.equal((lost as { code?: string }).code, 'fenced');
      await assert.rejects(ada.append([marker('late')]), lost);
      assert.equal((await bob.append([marker('mine')])).through, 1);
    },
  },
  {
    name: 'lease: a failed append, `lost` and every later append give the same error',
    async run({ log }) {
      const ada = await open(log, 'ada');
      await open(log, 'bob', true);
      const error = await expectRefusal('fenced', ada.append([marker('late')]));
      assert.equal(await ada.lost, error);
      await assert.rejects(ada.append([]), error);
    },
  },
  {
    name: 'lease: a released lease is free immediately, and its driver stores nothing more',
    async run({ log }) {
      const ada = await open(log, 'ada');
      await ada.release();
      await ada.release();
      assert.equal((await log.info(session))?.lease, undefined);
      await expectRefusal('fenced', ada.append([marker('late')]));
      await open(log, 'bob');
      await expectRefusal('fenced', ada.append([marker('later')]));
      assert.equal((await log.info(session))?.through, 0);
    },
  },
  {
    name: 'lease: a fenced driver cannot release the lease of another',
    async run({ log }) {
      const ada = await open(log, 'ada');
      await open(log, 'bob', true);
      await ada.release();
      await expectRefusal('held', open(log, 'cyd'));
      assert.equal((await log.info(session))?.lease?.holder, 'bob');
    },
  },
  {
    name: 'lease: a lease without expiry lasts until it is released or taken over',
    async run({ log, clock }) {
      const ada = await log.open(session, { holder: 'ada', leaseMs: Number.POSITIVE_INFINITY });
      assert.equal((await log.info(session))?.lease?.expiresAt, Number.POSITIVE_INFINITY);
      clock.jump(1000 * 24 * 3_600_000);
      await expectRefusal('held', open(log, 'bob'));
      await ada.append([marker('awake')]);
      assert.equal((await log.info(session))?.lease?.expiresAt, Number.POSITIVE_INFINITY);
      const bob = await open(log, 'bob', true);
      await expectRefusal('fenced', ada.append([marker('late')]));
      await bob.release();
      await open(log, 'cyd');
    },
  },
  {
    name: 'lease: a clock that is set back takes no lease away',
    async run({ log, clock }) {
      const ada = await open(log, 'ada');
      clock.jump(-10 * leaseMs);
      await expectRefusal('held', open(log, 'bob'));
      assert.equal((await ada.append([marker('earlier')])).through, 1);
    },
  },
  {
    name: 'lease: is valid across logs on one store',
    needsDurable: true,
    async run({ log, another }) {
      const other = await another();
      const ada = await open(log, 'ada');
      const error = await expectRefusal('held', open(other, 'bob'));
      assert.deepEqual([error.place['holder'], error.place['epoch']], ['ada', ada.epoch]);
      const bob = await open(other, 'bob', true);
      await expectRefusal('fenced', ada.append(markers(2)));
      await bob.append([marker('mine')]);
      assert.deepEqual(await offsets(log, session), [1]);
    },
  },
  {
    name: 'lease: a driver that knows the epoch continues a lease that was left',
    async run({ log }) {
      const ada = await log.open(session, { leaseMs: Number.POSITIVE_INFINITY, isDetached: true });
      await ada.append([marker('one')]);
      ada.detach();
      await expectRefusal('fenced', ada.append([marker('none')]));
      await expectRefusal('held', open(log, 'bob'));
      const again = await log.open(session, { epoch: ada.epoch, from: 1 });
      assert.equal(again.epoch, ada.epoch);
      assert.equal((await again.append([marker('two')])).after, 1);
      await again.release();
      await expectRefusal('fenced', log.open(session, { epoch: ada.epoch }));
      await open(log, 'bob');
    },
  },
  {
    name: 'lease: an admission stays valid after its driver left',
    async run({ log }) {
      const ada = await log.open(session, { isDetached: true });
      const admission = await ada.admit({ for: 'request', turn: 1 });
      ada.detach();
      const producer = await log.produce(admission);
      const said = { ...marker('said'), turn: 1, attempt: 1 };
      assert.equal((await producer.append([said], 1)).through, 1);
      await open(log, 'bob', true);
      await expectRefusal('fenced', producer.append([said], 2));
      await expectRefusal('fenced', log.open(session, { epoch: ada.epoch }));
    },
  },
  {
    name: 'lease: no epoch can continue on a missing or closed session',
    async run({ log }) {
      await expectRefusal('no_session', log.open(session, { epoch: 1 }));
      const ada = await open(log, 'ada');
      await ada.closeSession();
      await expectRefusal('session_closed', log.open(session, { epoch: ada.epoch }));
    },
  },
  {
    name: 'lease: a detached lease outlives the log that took it',
    needsDurable: true,
    async run({ log, another }) {
      const ada = await log.open(session, { isDetached: true, holder: 'a workflow' });
      await ada.append([marker('one')]);
      await log.close();
      const next = await another();
      await expectRefusal('held', open(next, 'bob'));
      const again = await next.open(session, { epoch: ada.epoch, from: 1 });
      assert.equal((await again.append([marker('two')])).after, 1);
    },
  },
];
