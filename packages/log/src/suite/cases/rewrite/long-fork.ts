import { findItem, itemId, sessionId } from '@millrace/core';
import * as assert from '../../assert.ts';
import { fact, marker, turnStarted, wholeItem, wholeTurn } from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import { readAll, readBatches, stateAfter } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const into = sessionId('fork');

/** Returns a text that makes a session long enough for a copy in several parts. */
const longText = (length = 100_000): string => 'words and more words '.repeat(length / 20);

/** Cases for sessions that a log copies in several parts. */
export const longForkCases: readonly CaseSpec[] = [
  {
    name: 'fork: a long session is copied with its settled turns, commands, blobs and open turn',
    async run({ log }) {
      const driver = await log.open(session);
      const { hash, length } = await log.blobs.put(Uint8Array.of(1, 2, 3));
      const source = { type: 'blob', hash, length } as const;
      await driver.append(wholeItem('picture', { kind: 'media', mimeType: 'a/b', source }));
      await log.submit(session, { say: 'done' }, 'done');
      await log.submit(session, { say: 'waits' }, 'waits');
      for (let turn = 1; turn <= 8; turn++) {
        await driver.append(wholeTurn(turn, [longText(), 'end']));
        await driver.append(wholeItem(`item ${turn}`, { kind: 'text', text: longText() }));
      }
      await driver.append([fact({ type: 'command_consumed', key: 'done' }), turnStarted(9)]);
      for (const turn of [1, 3, 4]) assert.equal(await log.settle(session, turn), true);
      const { through = 0 } = (await log.info(session)) ?? {};
      await driver.append([...wholeItem('later', { kind: 'text', text: longText() })]);
      const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
      const info = await log.fork(session, { into, through, append: [marker('added')] });
      assert.deepEqual(info, await log.info(into));
      assert.deepEqual(
        [info.origin, info.through, info.lease, info.hasWork],
        [{ session, through }, through + 2, undefined, true],
      );
      const copied = await readAll(log, into);
      const unlinked = (all: typeof copied) => all.map(({ links: _, ...record }) => record);
      const original = records.filter(({ offset }) => offset <= through);
      assert.deepEqual(unlinked(copied.slice(0, -2)), unlinked(original));
      const added = copied.slice(-2).map((record) => record.fact);
      const consumed = { type: 'command_consumed', key: 'waits' };
      assert.deepEqual(added, [consumed, marker('added').fact]);
      for (const key of ['done', 'waits']) {
        assert.equal((await log.submit(into, { say: 'again' }, key)).isRepeat, true);
        assert.equal((await log.findCommand(into, key))?.isConsumed, true);
      }
      await log.delete(session);
      assert.deepEqual(await log.blobs.get(hash), Uint8Array.of(1, 2, 3));
      const other = await log.open(into);
      const next = await other.append([marker('continues')]);
      assert.equal(next.through, through + 3);
    },
  },
  {
    name: 'fork: no reader sees a long fork before it is complete',
    async run({ log }) {
      const driver = await log.open(session);
      for (let at = 1; at <= 12; at++)
        await driver.append(wholeItem(`item ${at}`, { kind: 'text', text: longText() }));
      let bytes = 0;
      const seen: Promise<unknown>[] = [];
      const onCopy = (part: number) => {
        bytes += part;
        seen.push(log.list().then((list) => list.map((one) => String(one.session))));
      };
      const { through } = await log.fork(session, { into, through: 36, onCopy });
      assert.equal(through, 36);
      assert.equal(bytes > 12 * 100_000, true);
      // A list that was requested last can come after the fork.
      for (const list of (await Promise.all(seen)).slice(0, -1)) assert.deepEqual(list, ['s']);
      const all = (await log.list()).map((one) => String(one.session));
      assert.deepEqual(all, ['fork', 's']);
      assert.deepEqual((await log.list({ limit: 1 })).length, 1);
    },
  },
  {
    name: 'fork: an error of onCopy ends the fork, and nothing of it stays',
    async run({ log }) {
      const driver = await log.open(session);
      for (let at = 1; at <= 12; at++)
        await driver.append(wholeItem(`item ${at}`, { kind: 'text', text: longText() }));
      let parts = 0;
      const full = new Error('enough');
      const onCopy = () => {
        if (++parts > 0) throw full;
      };
      const forked = log.fork(session, { into, through: 36, onCopy });
      assert.equal(await forked.catch((error: unknown) => error), full);
      assert.equal(await log.info(into), undefined);
      assert.deepEqual((await log.list()).length, 1);
      // The same id can be used after that.
      await log.fork(session, { into, through: 36 });
      assert.deepEqual(await readAll(log, into), await readAll(log, session));
    },
  },
  {
    name: 'fork: a long session is refused inside a settled turn, at a wrong offset and into itself',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(wholeTurn(1, [...'abcdef']));
      for (let at = 1; at <= 8; at++)
        await driver.append(wholeItem(`item ${at}`, { kind: 'text', text: longText() }));
      await driver.append(wholeTurn(2, [...'abcdef']));
      for (const turn of [1, 2]) await log.settle(session, turn);
      const { through = 0 } = (await log.info(session)) ?? {};
      for (const at of [3, through - 4, through + 1, -1, 1.5])
        await expectRefusal('bad_offset', log.fork(session, { into, through: at }));
      const itself = log.fork(session, { into: session, through });
      await expectRefusal('session_exists', itself);
      assert.deepEqual((await log.list()).length, 1);
    },
  },
  {
    name: 'fork: an item of a long session that was redacted after the offset is marked as redacted',
    async run({ log }) {
      const driver = await log.open(session);
      for (let at = 1; at <= 8; at++)
        await driver.append(wholeItem(`item ${at}`, { kind: 'text', text: longText() }));
      await log.redact(session, itemId('item 2'), 'private');
      await log.redact(session, itemId('item 8'), 'private');
      await log.fork(session, { into, through: 21 });
      const state = stateAfter(into, await readBatches(log, into));
      assert.equal(findItem(state, itemId('item 2'))?.redacted, true);
      assert.equal(findItem(state, itemId('item 1'))?.redacted, false);
      assert.equal((await log.info(into))?.through, 22);
    },
  },
];
