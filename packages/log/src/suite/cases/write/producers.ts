import { type DraftRecord, sessionId, toolCallId } from '@millrace/core';
import type { Admission } from '../../../contract/producer.ts';
import * as assert from '../../assert.ts';
import { answer, marker, turnStarted } from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import { offsets, readAll, summaryOfLog } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const request = { for: 'request', turn: 1 } as const;
const call = { for: 'call', turn: 1, attempt: 1, toolCallId: toolCallId('c') } as const;
const line = (attempt = 1): DraftRecord => ({ turn: 1, attempt, fact: { type: 'aborted' } });

export const producerCases: readonly CaseSpec[] = [
  {
    name: 'producer: writes for the driver that admitted it, as the first attempt of its turn',
    async run({ log }) {
      const driver = await log.open(session);
      const producer = await log.produce(await driver.admit(request));
      assert.deepEqual([producer.session, producer.turn, producer.attempt], [session, 1, 1]);
      assert.deepEqual(await producer.append([line(), line()], 1), { through: 2, isRepeat: false });
      assert.deepEqual(await producer.append([line()], 2), { through: 3, isRepeat: false });
      const told = await driver.append([marker('and I')]);
      assert.deepEqual([told.after, told.through, told.records.length], [0, 4, 4]);
    },
  },
  {
    name: 'producer: an admission is plain data, and admitting twice gives the same one',
    async run({ log }) {
      const driver = await log.open(session);
      const admission = await driver.admit(request);
      const copy = JSON.parse(JSON.stringify(admission)) as Admission;
      assert.deepEqual(copy, admission);
      const producer = await log.produce(copy);
      await producer.append([line()], 1);
      assert.deepEqual(await driver.admit(request), admission);
      // If the same producer is admitted again, its state does not change.
      assert.deepEqual(await producer.append([line()], 1), { through: 1, isRepeat: true });
      assert.deepEqual(await producer.append([line()], 2), { through: 2, isRepeat: false });
    },
  },
  {
    name: 'producer: a repeat is acknowledged and stored once',
    async run({ log }) {
      const driver = await log.open(session);
      const producer = await log.produce(await driver.admit(request));
      const first = await producer.append([line(), line()], 1);
      assert.deepEqual(await producer.append([line(), line()], 1), { ...first, isRepeat: true });
      await log.submit(session, {}, 'k');
      const second = await producer.append([line()], 2);
      assert.deepEqual(await producer.append([line()], 2), { ...second, isRepeat: true });
      assert.equal((await producer.append([line(), line()], 1)).isRepeat, true);
      assert.deepEqual(await offsets(log, session), [1, 2, 3, 4]);
    },
  },
  {
    name: 'producer: concurrent repeats are stored once',
    async run({ log }) {
      const driver = await log.open(session);
      const producer = await log.produce(await driver.admit(request));
      const answers = await Promise.all([1, 1, 2, 1, 2].map((at) => producer.append([line()], at)));
      const repeats = answers.map(({ isRepeat }) => isRepeat);
      assert.deepEqual(repeats, [false, true, false, true, true]);
      assert.deepEqual(await offsets(log, session), [1, 2]);
    },
  },
  {
    name: 'producer: a skipped or invalid sequence is refused and stores nothing',
    async run({ log }) {
      const driver = await log.open(session);
      const producer = await log.produce(await driver.admit(request));
      await producer.append([line()], 1);
      await producer.append([line()], 2);
      for (const sequence of [4, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
        await expectRefusal('bad_sequence', producer.append([line()], sequence));
      assert.deepEqual(await offsets(log, session), [1, 2]);
      assert.equal((await producer.append([line()], 3)).through, 3);
    },
  },
  {
    name: 'producer: opening a request again starts the next attempt, fences the earlier one and supersedes it',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([turnStarted(1)]);
      const admission = await driver.admit(request);
      const first = await log.produce(admission);
      await first.append(answer(1, ['half an ans']).slice(0, 3), 1);
      const second = await log.produce(admission);
      assert.ok(second.epoch > first.epoch);
      assert.equal(second.attempt, 2);
      const last = (await readAll(log, session)).at(-1);
      assert.deepEqual([last?.turn, last?.attempt], [1, 1]);
      assert.equal(last?.fact?.type, 'attempt_superseded');
      await expectRefusal('fenced', first.append([line()], 2));
      // A fenced producer is refused even for sequence numbers that it stored before. Otherwise, it would
      // continue after them.
      await expectRefusal('fenced', first.append(answer(1, ['half an ans']).slice(0, 3), 1));
      await second.append(answer(1, ['an answer'], 2), 1);
      const { items } = await summaryOfLog(log, session);
      assert.deepEqual(
        items.map(({ parts }) => parts),
        [[{ kind: 'text', text: 'an answer' }]],
      );
    },
  },
  {
    name: 'producer: a producer for a call writes in its attempt; opening it again fences but does not supersede',
    async run({ log }) {
      const driver = await log.open(session);
      const admission = await driver.admit(call);
      const first = await log.produce(admission);
      assert.deepEqual([first.turn, first.attempt], [1, 1]);
      await first.append([line()], 1);
      const second = await log.produce(admission);
      assert.equal(second.attempt, 1);
      await expectRefusal('fenced', first.append([line()], 2));
      await second.append([line()], 1);
      const types = (await readAll(log, session)).map((record) => record.fact?.type);
      assert.deepEqual(types, ['aborted', 'aborted']);
    },
  },
  {
    name: 'producer: several producers write at the same time',
    async run({ log }) {
      const driver = await log.open(session);
      const other = { ...call, toolCallId: toolCallId('d') };
      const admissions = [await driver.admit(request), await driver.admit(call)];
      admissions.push(await driver.admit(other));
      assert.equal(new Set(admissions.map(({ producer }) => producer)).size, 3);
      const producers = await Promise.all(admissions.map((one) => log.produce(one)));
      await Promise.all(producers.map((producer) => producer.append([line()], 1)));
      await Promise.all(producers.map((producer) => producer.append([line()], 2)));
      assert.deepEqual(await offsets(log, session), [1, 2, 3, 4, 5, 6]);
    },
  },
  {
    name: 'producer: an append with a draft of another turn or attempt is refused as a whole',
    async run({ log }) {
      const driver = await log.open(session);
      const producer = await log.produce(await driver.admit(request));
      for (const foreign of [line(2), { ...line(), turn: 2 }, marker('outside')])
        await expectRefusal('bad_records', producer.append([line(), foreign], 1));
      assert.deepEqual(await offsets(log, session), []);
      assert.equal((await producer.append([line()], 1)).through, 1);
    },
  },
  {
    name: 'producer: ends with its driver, however the driver ends',
    async run({ log }) {
      for (const end of ['release', 'takeOver', 'closeSession', 'delete'] as const) {
        const driver = await log.open(session);
        const admission = await driver.admit(request);
        const producer = await log.produce(admission);
        await producer.append([line()], 1);
        if (end === 'release') await driver.release();
        if (end === 'takeOver') await (await log.open(session, { takeOver: true })).release();
        if (end === 'closeSession') await driver.closeSession();
        if (end === 'delete') await log.delete(session);
        const before = (await log.info(session))?.through;
        await expectRefusal('fenced', producer.append([line()], 2));
        await expectRefusal('fenced', log.produce(admission));
        assert.equal((await log.info(session))?.through, before, end);
        await log.delete(session);
      }
    },
  },
  {
    name: 'producer: the next driver must admit it again, and the attempt count continues',
    async run({ log }) {
      const first = await log.open(session);
      const early = await log.produce(await first.admit(request));
      await early.append([line()], 1);
      const second = await log.open(session, { takeOver: true });
      const admission = await second.admit(request);
      await expectRefusal('fenced', early.append([line()], 2));
      const late = await log.produce(admission);
      assert.equal(late.attempt, 2);
      assert.ok(late.epoch > early.epoch);
      assert.deepEqual(await late.append([line(2)], 1), { through: 3, isRepeat: false });
    },
  },
  {
    name: 'producer: writing without an admission is refused',
    async run({ log }) {
      const driver = await log.open(session);
      const admission = await driver.admit(request);
      await expectRefusal('fenced', log.produce({ ...admission, producer: 'request 2' }));
      await expectRefusal('fenced', log.produce({ ...admission, driverEpoch: driver.epoch + 1 }));
      await expectRefusal('fenced', log.produce({ ...admission, session: sessionId('none') }));
      assert.equal(await log.info(sessionId('none')), undefined);
    },
  },
  {
    name: 'producer: can write through another log on the same store',
    needsDurable: true,
    async run({ log, another }) {
      const driver = await log.open(session);
      const admission = await driver.admit(request);
      const first = await log.produce(admission);
      await first.append([line()], 1);
      const second = await (await another()).produce(admission);
      await expectRefusal('fenced', first.append([line()], 2));
      await second.append([line(2)], 1);
      const { records } = await driver.append([]);
      assert.deepEqual(
        records.map(({ attempt }) => attempt),
        [1, 1, 2],
      );
    },
  },
];
