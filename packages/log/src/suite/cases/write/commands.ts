import { sessionId } from '@millrace/core';
import * as assert from '../../assert.ts';
import { fact, marker } from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import { readAll } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const command = { type: 'message', text: 'hello' };

export const commandCases: readonly CaseSpec[] = [
  {
    name: 'command: needs no lease and creates a missing session',
    async run({ log, clock }) {
      assert.deepEqual(await log.submit(session, command, 'k'), { offset: 1, isRepeat: false });
      const [record] = await readAll(log, session);
      assert.deepEqual([record?.turn, record?.attempt, record?.time], [0, 0, clock.now()]);
      assert.deepEqual(record?.fact, { type: 'command_queued', key: 'k', command });
      assert.equal((await log.info(session))?.hasWork, true);
      assert.equal((await log.info(session))?.lease, undefined);
    },
  },
  {
    name: 'command: a repeated key has no effect and returns the existing offset',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([marker('first')]);
      await log.submit(session, command, 'k');
      await driver.append([fact({ type: 'command_consumed', key: 'k' })]);
      const again = await log.submit(session, { type: 'something else' }, 'k');
      assert.deepEqual(again, { offset: 2, isRepeat: true });
      assert.equal((await log.info(session))?.through, 3);
    },
  },
  {
    name: 'command: is found by its key, before and after a driver handled it',
    async run({ log }) {
      assert.equal(await log.findCommand(session, 'k'), undefined);
      const driver = await log.open(session);
      await driver.append([marker('first')]);
      await log.submit(session, command, 'k');
      assert.deepEqual(await log.findCommand(session, 'k'), { offset: 2, isConsumed: false });
      await driver.append([fact({ type: 'command_consumed', key: 'k' })]);
      assert.deepEqual(await log.findCommand(session, 'k'), { offset: 2, isConsumed: true });
      assert.equal(await log.findCommand(session, 'other'), undefined);
    },
  },
  {
    name: 'command: concurrent commands with the same key are stored once',
    async run({ log }) {
      const keys = ['a', 'b', 'a', 'a', 'b'];
      const answers = await Promise.all(keys.map((key) => log.submit(session, command, key)));
      assert.deepEqual(
        answers.map(({ offset }) => offset),
        [1, 2, 1, 1, 2],
      );
      assert.equal(answers.filter(({ isRepeat }) => isRepeat).length, 3);
      assert.equal((await log.info(session))?.through, 2);
    },
  },
  {
    name: 'command: keys belong to one session and may be any text',
    async run({ log }) {
      const keys = ["'; DROP TABLE commands; --", '☃ 😀', 'a', 'A', ' a', 'a\n', '__proto__'];
      for (const [index, key] of keys.entries())
        assert.deepEqual(await log.submit(session, command, key), {
          offset: index + 1,
          isRepeat: false,
        });
      for (const key of keys)
        assert.equal((await log.submit(session, command, key)).isRepeat, true);
      const other = await log.submit(sessionId('t'), command, 'a');
      assert.deepEqual(other, { offset: 1, isRepeat: false });
    },
  },
  {
    name: 'command: a closed session refuses new commands but acknowledges existing ones',
    async run({ log }) {
      await log.submit(session, command, 'k');
      await (await log.open(session)).closeSession();
      assert.deepEqual(await log.submit(session, command, 'k'), { offset: 1, isRepeat: true });
      const error = await expectRefusal('session_closed', log.submit(session, command, 'new'));
      assert.equal(error.place['session'], session);
      assert.equal((await log.info(session))?.through, 1);
    },
  },
  {
    name: 'command: a repeat is recognized after reopening the store and from another log',
    needsDurable: true,
    async run({ log, another }) {
      await log.submit(session, command, 'k');
      const other = await another();
      assert.deepEqual(await other.submit(session, command, 'k'), { offset: 1, isRepeat: true });
      await log.close();
      await other.close();
      const again = await another();
      assert.deepEqual(await again.submit(session, command, 'k'), { offset: 1, isRepeat: true });
      assert.equal((await again.info(session))?.through, 1);
    },
  },
  {
    name: 'command: the driver receives a command from another log with its next append',
    needsDurable: true,
    async run({ log, another }) {
      const driver = await log.open(session);
      await driver.append([marker('first')]);
      await (await another()).submit(session, command, 'k');
      const { after, through, records } = await driver.append([marker('next')]);
      assert.deepEqual([after, through], [1, 3]);
      assert.deepEqual(
        records.map((record) => record.fact?.type),
        ['command_queued', 'handed_off'],
      );
    },
  },
];
