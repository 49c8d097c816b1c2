import { type DraftRecord, itemId, type JsonObject, partId, sessionId } from '@millrace/core';
import * as assert from '../../assert.ts';
import { fact, marker, markers, wholeItem } from '../../drafts.ts';
import { offsets, readAll } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');

const streamedText = (at: number, chunk: string): DraftRecord => ({
  ...{ turn: 1, attempt: 1 },
  delta: { type: 'append_text', partId: partId(1, 1, 'p'), at, chunk },
});

export const appendCases: readonly CaseSpec[] = [
  {
    name: 'append: offsets start at 1 without gaps, for any batch sizes',
    async run({ log }) {
      const driver = await log.open(session);
      for (const count of [1, 3, 1, 10]) await driver.append(markers(count));
      assert.deepEqual(
        await offsets(log, session),
        Array.from({ length: 15 }, (_, index) => index + 1),
      );
      assert.equal((await log.info(session))?.through, 15);
    },
  },
  {
    name: 'append: each session has its own offsets',
    async run({ log }) {
      const [one, other] = [await log.open(session), await log.open(sessionId('t'))];
      await one.append(markers(3));
      assert.equal((await other.append(markers(2))).through, 2);
    },
  },
  {
    name: 'append: returns the stored records with offset, time and content',
    async run({ log, clock }) {
      const driver = await log.open(session);
      const drafts = [marker('a'), { ...marker('b'), turn: 7 }];
      const { after, through, records } = await driver.append(drafts);
      assert.deepEqual([after, through], [0, 2]);
      const time = clock.now();
      const expected = drafts.map((draft, index) => ({ ...draft, v: 1, time, offset: index + 1 }));
      assert.deepEqual(
        records.map(({ producer: _, ...rest }) => rest),
        expected,
      );
      assert.ok(records.every(({ producer }) => producer.length > 0));
    },
  },
  {
    name: 'append: only the store assigns offsets; fields of a draft cannot override them',
    async run({ log, clock }) {
      const driver = await log.open(session);
      const foreign = { offset: 99, time: 1, producer: 'elsewhere', v: 1 };
      const { records } = await driver.append([{ ...foreign, ...marker('a') }]);
      const [stored] = await readAll(log, session);
      for (const record of [records[0], stored])
        assert.deepEqual([record?.offset, record?.time], [1, clock.now()]);
      assert.notEqual(stored?.producer, 'elsewhere');
    },
  },
  {
    name: 'append: an empty append stores nothing and returns records of other writers',
    async run({ log }) {
      const driver = await log.open(session);
      assert.deepEqual(await driver.append([]), { after: 0, through: 0, records: [] });
      await log.submit(session, { say: 'hello' }, 'k');
      const batch = await driver.append([]);
      assert.deepEqual([batch.after, batch.through], [0, 1]);
      assert.equal(batch.records[0]?.fact?.type, 'command_queued');
      assert.deepEqual(await driver.append([]), { after: 1, through: 1, records: [] });
    },
  },
  {
    name: "append: gives everything since the driver's last, others' records included, in order",
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([marker('first')]);
      await log.submit(session, {}, 'k1');
      const admission = await driver.admit({ for: 'request', turn: 1 });
      const producer = await log.produce(admission);
      await producer.append([{ turn: 1, attempt: 1, fact: { type: 'aborted' } }], 1);
      await log.submit(session, {}, 'k2');
      const batch = await driver.append([marker('last')]);
      assert.deepEqual([batch.after, batch.through], [1, 5]);
      const types = batch.records.map((record) => record.fact?.type);
      assert.deepEqual(types, ['command_queued', 'aborted', 'command_queued', 'handed_off']);
      assert.deepEqual(batch.records, (await readAll(log, session)).slice(1));
    },
  },
  {
    name: 'append: a driver opened with `from` receives the records after that offset',
    async run({ log }) {
      const first = await log.open(session);
      await first.append(markers(4));
      await first.release();
      const second = await log.open(session, { from: 3 });
      const { after, through, records } = await second.append([marker('mine')]);
      assert.deepEqual([after, through], [3, 5]);
      assert.deepEqual(
        records.map(({ offset }) => offset),
        [4, 5],
      );
    },
  },
  {
    name: 'append: concurrent appends are stored in the order of the calls',
    async run({ log }) {
      const driver = await log.open(session);
      const names = Array.from({ length: 50 }, (_, index) => `${index}`);
      const batches = await Promise.all(names.map((name) => driver.append([marker(name)])));
      const appended = batches.flatMap(({ records }) => records);
      const stored = await readAll(log, session);
      assert.deepEqual(appended, stored);
      const texts = stored.map((record) => record.fact?.type === 'handed_off' && record.fact.to);
      assert.deepEqual(texts, names);
      for (const [index, batch] of batches.entries()) assert.equal(batch.after, index);
    },
  },
  {
    name: 'append: streamed text is stored in the order of the calls, and each append has its own batch',
    async run({ log }) {
      const driver = await log.open(session);
      await log.submit(session, {}, 'k');
      const text = (name: string): readonly DraftRecord[] => [streamedText(0, name[0] ?? '')];
      const drafts = Array.from({ length: 40 }, (_, index) => {
        // A few appends are not streamed text, and a few have several drafts.
        if (index % 13 === 12) return [marker(`${index}`)];
        return index % 7 === 6 ? [...text('ab'), ...text('cd')] : text(`${index}`);
      });
      const answered: number[] = [];
      const batches = await Promise.all(
        drafts.map(async (each, index) => {
          const batch = await driver.append(each);
          answered.push(index);
          return batch;
        }),
      );
      assert.deepEqual(
        answered,
        drafts.map((_, index) => index),
      );
      const [first, ...others] = batches;
      // The record of the other writer belongs to the first batch.
      assert.deepEqual([first?.after, first?.through, first?.records.length], [0, 2, 2]);
      let after = 2;
      for (const [index, batch] of others.entries()) {
        const count = drafts[index + 1]?.length ?? 0;
        assert.deepEqual([batch.after, batch.through], [after, after + count]);
        assert.equal(batch.records.length, count);
        after = batch.through;
      }
      const stored = await readAll(log, session);
      assert.deepEqual(
        batches.flatMap(({ records }) => records),
        stored,
      );
      assert.deepEqual(
        stored.slice(1).map((record) => record.delta ?? record.fact),
        drafts.flat().map((draft) => draft.delta ?? draft.fact),
      );
    },
  },
  {
    name: 'append: a fenced driver stores none of its streamed text',
    async run({ log }) {
      const driver = await log.open(session);
      const lost = driver.lost.then(() => {});
      await log.open(session, { takeOver: true });
      const appends = Array.from({ length: 5 }, () => driver.append([streamedText(0, 'late')]));
      for (const outcome of await Promise.allSettled(appends))
        assert.equal(outcome.status, 'rejected');
      await lost;
      assert.equal((await log.info(session))?.through, 0);
    },
  },
  {
    name: 'append: acknowledged records can be read immediately',
    async run({ log }) {
      const driver = await log.open(session);
      for (const draft of markers(5)) {
        const { through } = await driver.append([draft]);
        assert.equal((await log.read(session, { from: through - 1 })).records.length, 1);
      }
    },
  },
  {
    name: 'append: every kind of record is read back unchanged',
    async run({ log }) {
      const driver = await log.open(session);
      const id = { partId: partId(0, 0, 'p "quoted" ☃'), itemId: itemId('i') };
      const proto = JSON.parse(
        '{"__proto__":{"a":null},"n":-1.5e-7,"😀":["\\u2028"]}',
      ) as JsonObject;
      const head = { turn: 0, attempt: 0 };
      const drafts = [
        fact({ type: 'item_started', itemId: id.itemId, kind: 'user', metadata: proto }),
        { ...head, delta: { type: 'begin_part', ...id, kind: 'file', name: 'f', mimeType: 'a/b' } },
        {
          ...head,
          delta: {
            type: 'append_bytes',
            partId: id.partId,
            at: 0,
            chunk: Uint8Array.of(0, 255, 10, 13),
          },
        },
        { ...head, delta: { type: 'commit_part', partId: id.partId, length: 4 } },
        { ...head, delta: { type: 'unknown', raw: { type: 'from_the_future', of: [proto] } } },
        fact({ type: 'unknown', raw: { type: 'also_unknown', must_understand: true } }),
        ...wholeItem('j', {
          kind: 'structured',
          value: [null, true, '', 'line\nline\u0000\ud83d\ude00'],
        }),
      ] as Parameters<typeof driver.append>[0];
      const { records } = await driver.append(drafts);
      assert.deepEqual(await readAll(log, session), records);
      assert.deepEqual(
        records.map((record) => record.delta ?? record.fact),
        drafts.map((draft) => draft.delta ?? draft.fact),
      );
    },
  },
  {
    name: 'append: acknowledged records exist after reopening the store',
    needsDurable: true,
    async run({ log, another }) {
      const driver = await log.open(session);
      await driver.append(markers(3));
      const appended = await readAll(log, session);
      await log.close();
      const again = await another();
      assert.deepEqual(await readAll(again, session), appended);
      const next = await again.open(session, { from: 3 });
      assert.equal((await next.append([marker('on')])).through, 4);
    },
  },
];
