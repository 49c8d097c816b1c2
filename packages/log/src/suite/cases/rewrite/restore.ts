import { type LogRecord, sessionId } from '@millrace/core';
import type { Log } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import { answer, answerId, marker, turnStarted, wholeTurn } from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import { Follower, readAll, summaryOfLog } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const copy = sessionId('copy');
const letters = [...'abcdefghij'];

/** Returns records with gaps, a snapshot, commands and an unfinished attempt. */
async function someRecords(log: Log): Promise<readonly LogRecord[]> {
  const driver = await log.open(session);
  await driver.append([...wholeTurn(1, letters), ...wholeTurn(2, letters)]);
  await log.submit(session, {}, 'k');
  await log.settle(session, 1);
  await log.redact(session, answerId(2));
  await driver.append([turnStarted(3), ...answer(3, letters).slice(0, 5)]);
  return readAll(log, session);
}

export const restoreCases: readonly CaseSpec[] = [
  {
    name: 'restore: creates a session from records unchanged, and appends continue after them',
    async run({ log, clock }) {
      const records = await someRecords(log);
      const through = records.at(-1)?.offset ?? 0;
      const info = await log.restore(copy, records);
      assert.deepEqual(info, await log.info(copy));
      assert.deepEqual([info.through, info.createdAt], [through, clock.now()]);
      assert.deepEqual([info.hasWork, info.isClosed, info.lease], [true, false, undefined]);
      assert.deepEqual(await readAll(log, copy), records);
      assert.deepEqual(await summaryOfLog(log, copy), await summaryOfLog(log, session));
      const driver = await log.open(copy, { from: through });
      assert.equal((await driver.append([marker('on')])).through, through + 1);
      const follower = await new Follower(log, copy).reach(through + 1);
      await follower.leave();
    },
  },
  {
    name: 'restore: accepts the times, state and origin of the original',
    async run({ log }) {
      const origin = { session: sessionId('far away'), through: 3 };
      const options = { createdAt: 1000, changedAt: 2000, isClosed: true, origin };
      const { createdAt, changedAt, isClosed, ...rest } = await log.restore(copy, [], options);
      assert.deepEqual({ createdAt, changedAt, isClosed, origin: rest.origin }, options);
      assert.equal(rest.through, 0);
      await expectRefusal('session_closed', log.open(copy));
    },
  },
  {
    name: 'restore: recognizes the keys of commands and continues the attempt count',
    async run({ log }) {
      const records = await someRecords(log);
      await log.restore(copy, records);
      assert.equal((await log.submit(copy, {}, 'k')).isRepeat, true);
      const driver = await log.open(copy);
      const producer = await log.produce(await driver.admit({ for: 'request', turn: 3 }));
      assert.equal(producer.attempt, 2);
      const { items } = await summaryOfLog(log, copy);
      assert.equal(items.length, 2, 'the attempt that was cut is superseded');
    },
  },
  {
    name: 'restore: an existing session or unordered records are refused, and nothing is stored',
    async run({ log }) {
      const records = await someRecords(log);
      const before = await readAll(log, session);
      await expectRefusal('session_exists', log.restore(session, records));
      assert.deepEqual(await readAll(log, session), before);
      await expectRefusal('bad_records', log.restore(copy, [...records].reverse()));
      const [first] = records;
      assert.ok(first !== undefined);
      await expectRefusal('bad_records', log.restore(copy, [first, first]));
      for (const offset of [0, -1, 1.5, Number.NaN])
        await expectRefusal('bad_records', log.restore(copy, [{ ...first, offset }]));
      const queued = records.find(({ fact }) => fact?.type === 'command_queued');
      assert.ok(queued !== undefined);
      const twice = [queued, { ...queued, offset: queued.offset + 1 }];
      await expectRefusal('bad_records', log.restore(copy, twice));
      assert.equal(await log.info(copy), undefined);
    },
  },
];
