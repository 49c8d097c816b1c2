import { findItem, itemId, sessionId, toArray } from '@millrace/core';
import * as assert from '../../assert.ts';
import { fact, marker, markers, runStarted, wholeItem, wholeTurn } from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import {
  Follower,
  offsets,
  readAll,
  readBatches,
  stateAfter,
  summaryOf,
  summaryOfLog,
} from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const into = sessionId('fork');
const letters = [...'abcdefghij'];
const drafts = [...wholeItem('i', { kind: 'text', text: 'hello' }), ...wholeTurn(1, letters)];

export const forkCases: readonly CaseSpec[] = [
  {
    name: 'fork: at any record it is a copy up to that record, with a reference to its origin',
    async run({ log, clock }) {
      await (await log.open(session)).append([...drafts, marker('after')]);
      const all = await readAll(log, session);
      clock.jump(1000);
      for (let through = 0; through <= all.length; through++) {
        const copy = sessionId(`fork ${through}`);
        const info = await log.fork(session, { into: copy, through });
        const { createdAt, origin, lease, isClosed } = info;
        assert.deepEqual(info, await log.info(copy));
        assert.deepEqual(
          { session: info.session, through: info.through, createdAt, origin, lease, isClosed },
          {
            session: copy,
            through,
            createdAt: clock.now(),
            origin: { session, through },
            lease: undefined,
            isClosed: false,
          },
        );
        const records = all.slice(0, through);
        assert.deepEqual(await readAll(log, copy), records);
        const expected = stateAfter(copy, through === 0 ? [] : [{ after: 0, through, records }]);
        assert.deepEqual(await summaryOfLog(log, copy), summaryOf(expected));
      }
      assert.deepEqual(await readAll(log, session), all);
    },
  },
  {
    name: 'fork: continues independently of the original',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(drafts);
      await log.fork(session, { into, through: 3 });
      const follower = await new Follower(log, into).reach(3);
      const other = await log.open(into, { from: 3 });
      assert.deepEqual((await other.append([marker('here')])).through, 4);
      await driver.append([marker('there')]);
      assert.equal((await follower.step())?.through, 4);
      await follower.leave();
      assert.deepEqual(await offsets(log, into), [1, 2, 3, 4]);
      assert.equal((await log.info(session))?.through, drafts.length + 1);
    },
  },
  {
    name: 'fork: inside a turn it becomes an interrupted session that waits for a driver',
    async run({ log }) {
      await (await log.open(session)).append([runStarted, ...drafts]);
      const info = await log.fork(session, { into, through: 9 });
      assert.equal(info.hasWork, true);
      const { items, open, run } = await summaryOfLog(log, into);
      assert.equal(open.length, 1);
      assert.equal(run, 'run1');
      assert.deepEqual(items.at(-1)?.parts, [{ kind: 'text', text: 'ab', partial: true }]);
      const waiting = await log.list({ isWaiting: true });
      assert.deepEqual(
        waiting.map((one) => one.session),
        [into],
      );
    },
  },
  {
    name: 'fork: queued commands count as consumed, and their keys as used',
    async run({ log }) {
      const driver = await log.open(session);
      await log.submit(session, { n: 1 }, 'done');
      await driver.append([fact({ type: 'command_consumed', key: 'done' })]);
      await log.submit(session, { n: 2 }, 'waits');
      const { through } = await driver.append([marker('last')]);
      const info = await log.fork(session, { into, through });
      assert.equal(info.hasWork, false);
      assert.equal((await log.info(session))?.hasWork, true);
      const records = await readAll(log, into);
      assert.deepEqual(records.slice(0, through), await readAll(log, session));
      const waiting = new Set<string>();
      for (const { fact: what } of records) {
        if (what?.type === 'command_queued') waiting.add(what.key);
        if (what?.type === 'command_consumed') waiting.delete(what.key);
      }
      assert.deepEqual([...waiting], []);
      assert.equal(info.through, records.length);
      assert.deepEqual(await log.submit(into, { n: 2 }, 'waits'), { offset: 3, isRepeat: true });
    },
  },
  {
    name: 'fork: appends records in the same transaction, with open work and commands',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(drafts);
      const queued = fact({ type: 'command_queued', key: 'next', command: { n: 1 } });
      const info = await log.fork(session, {
        ...{ into, through: 3, append: [marker('changed'), queued] },
      });
      assert.equal(info.through, 5);
      assert.equal(info.hasWork, true);
      assert.deepEqual(info.origin, { session, through: 3 });
      const records = await readAll(log, into);
      assert.deepEqual(
        records.slice(3).map(({ offset, fact: added }) => [offset, added?.type]),
        [
          [4, 'handed_off'],
          [5, 'command_queued'],
        ],
      );
      assert.deepEqual(await log.submit(into, { n: 1 }, 'next'), { offset: 5, isRepeat: true });
      const broken = fact({ type: 'handed_off', to: 7 as never });
      const other = sessionId('other');
      await expectRefusal(
        'bad_records',
        log.fork(session, { into: other, through: 3, append: [broken] }),
      );
      assert.equal(await log.info(other), undefined);
    },
  },
  {
    name: 'fork: into an existing session is refused',
    async run({ log }) {
      await (await log.open(session)).append(drafts);
      await log.submit(into, {}, 'k');
      const error = await expectRefusal('session_exists', log.fork(session, { into, through: 1 }));
      assert.equal(error.place['session'], into);
      await expectRefusal('session_exists', log.fork(session, { into: session, through: 1 }));
      assert.equal((await log.info(into))?.through, 1);
    },
  },
  {
    name: 'fork: is refused inside a settled turn, and works before it and at its end',
    async run({ log }) {
      await (await log.open(session)).append([...drafts, marker('after')]);
      const [first, last] = [6, 17];
      await log.settle(session, 1);
      for (let through = 0; through <= drafts.length; through++) {
        const copy = sessionId(`fork ${through}`);
        const forked = log.fork(session, { into: copy, through });
        if (through < first || through >= last) {
          await forked;
          const prefix = (await readAll(log, session)).filter(({ offset }) => offset <= through);
          assert.deepEqual(await readAll(log, copy), prefix);
        } else {
          const error = await expectRefusal('bad_offset', forked);
          assert.equal(error.place['offset'], through);
          assert.equal(await log.info(copy), undefined);
        }
      }
    },
  },
  {
    name: 'fork: is refused at a removed record',
    async run({ log }) {
      await (await log.open(session)).append(drafts);
      const [item] = await readAll(log, session);
      assert.ok(item?.fact?.type === 'item_started');
      await log.redact(session, item.fact.itemId);
      await expectRefusal('bad_offset', log.fork(session, { into, through: 2 }));
      await log.fork(session, { into, through: 3 });
      // The record at offset 4 marks the item as redacted in the copy.
      assert.deepEqual(await offsets(log, into), [1, 3, 4]);
      assert.equal((await new Follower(log, into, { until: 'idle' }).end()).through, 4);
    },
  },
  {
    name: 'fork: an item that was redacted after the offset is marked as redacted in the copy',
    async run({ log }) {
      const part = { kind: 'text', text: 'a secret' } as const;
      const driver = await log.open(session);
      await driver.append(wholeItem('first', part));
      await driver.append(wholeItem('second', part));
      await driver.append(wholeItem('third', part));
      for (const item of ['first', 'third']) await log.redact(session, itemId(item), 'private');
      await log.fork(session, { into, through: 6 });
      const state = stateAfter(into, await readBatches(log, into));
      assert.deepEqual(
        toArray(state.items).map(({ id, redacted, parts }) => [id, redacted, parts.length]),
        [
          ['first', true, 0],
          ['second', false, 1],
        ],
      );
      assert.equal((await log.info(into))?.through, 7);
      // A fork that was created before the redaction keeps the content until the fork is redacted too.
      const early = sessionId('early');
      await log.fork(into, { into: early, through: 6 });
      await log.redact(into, itemId('second'));
      const kept = stateAfter(early, await readBatches(log, early));
      assert.equal(findItem(kept, itemId('second'))?.redacted, false);
    },
  },
  {
    name: 'fork: a fork of a closed session is open; a fork can be forked',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(3));
      await driver.closeSession();
      const info = await log.fork(session, { into, through: 2 });
      assert.equal(info.isClosed, false);
      await (await log.open(into)).append([marker('on')]);
      const twice = await log.fork(into, { into: sessionId('twice'), through: 3 });
      assert.deepEqual(twice.origin, { session: into, through: 3 });
    },
  },
  {
    name: 'fork: remains when its origin is deleted',
    async run({ log }) {
      await (await log.open(session)).append(drafts);
      await log.fork(session, { into, through: drafts.length });
      const before = await readBatches(log, into);
      await log.delete(session);
      assert.deepEqual(await readBatches(log, into), before);
      assert.equal((await log.info(into))?.origin?.session, session);
    },
  },
];
