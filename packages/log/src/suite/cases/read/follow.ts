import { type LogRecord, sessionId } from '@millrace/core';
import * as assert from '../../assert.ts';
import { answer, marker, markers, wholeTurn } from '../../drafts.ts';
import { expectFollowRefusal } from '../../expectations.ts';
import {
  Follower,
  foldedSummary,
  readAll,
  readBatches,
  stateAfter,
  summaryOf,
} from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';
import { eventLoopSettled } from '../../test-clock.ts';

const session = sessionId('s');
const letters = [...'abcdefghij'];

export const followCases: readonly CaseSpec[] = [
  {
    name: 'follow: reads from any offset and continues live, without gaps or overlaps',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(wholeTurn(1, letters));
      const { records } = await log.read(session);
      const followers: Follower[] = [];
      for (let from = 0; from <= records.length; from++) {
        const had = { after: 0, through: from, records: records.slice(0, from) };
        followers.push(new Follower(log, stateAfter(session, from === 0 ? [] : [had])));
      }
      // Some followers call `next` before the append, and some call it after the append. Here, both groups
      // change from stored records to new records.
      for (const [index, follower] of followers.entries())
        if (index % 2 === 0) void follower.request();
      for (const draft of wholeTurn(2, letters)) await driver.append([draft]);
      const whole = foldedSummary(session, await readBatches(log, session));
      for (const follower of followers) {
        await follower.reach(whole.through);
        assert.deepEqual(summaryOf(follower.folder.state), whole);
        await follower.leave();
      }
    },
  },
  {
    name: 'follow: a waiting follower receives each batch whole when it is stored',
    async run({ log }) {
      const driver = await log.open(session);
      const follower = new Follower(log, session);
      for (const count of [1, 4, 2]) {
        void follower.request();
        await eventLoopSettled();
        const stored = await driver.append(markers(count));
        const received = await follower.step();
        assert.equal(received?.through, stored.through);
        assert.deepEqual(received?.records, stored.records);
      }
      await follower.leave();
    },
  },
  {
    name: 'follow: can start before the first record of an existing session',
    async run({ log }) {
      await expectFollowRefusal('no_session', log.follow(session));
      const driver = await log.open(session);
      const follower = new Follower(log, session);
      void follower.request();
      await eventLoopSettled();
      await driver.append([marker('first')]);
      assert.deepEqual((await follower.step())?.records, await readAll(log, session));
      await follower.leave();
    },
  },
  {
    name: 'follow: receives commands and the records of producers',
    async run({ log }) {
      const driver = await log.open(session);
      const follower = new Follower(log, session);
      void follower.request();
      await eventLoopSettled();
      await log.submit(session, {}, 'k');
      assert.equal((await follower.step())?.records[0]?.fact?.type, 'command_queued');
      const producer = await log.produce(await driver.admit({ for: 'request', turn: 1 }));
      void follower.request();
      await eventLoopSettled();
      await producer.append(answer(1, ['a']).slice(0, 3), 1);
      assert.equal((await follower.step())?.records.length, 3);
      await follower.leave();
    },
  },
  {
    name: 'follow: a follower that stopped can resume with its cursor',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(2));
      let cursor = 0;
      for await (const batch of log.follow(session)) {
        cursor = batch.through;
        break;
      }
      await driver.append(markers(1));
      for await (const { after, through, records } of log.follow(session, { from: cursor })) {
        assert.deepEqual([after, through, records.length], [2, 3, 1]);
        break;
      }
    },
  },
  {
    name: 'follow: many followers receive the same, and one that stops does not affect the others',
    async run({ log }) {
      const driver = await log.open(session);
      const followers = Array.from({ length: 100 }, () => new Follower(log, session));
      for (const follower of followers) void follower.request();
      await driver.append(wholeTurn(1, letters).slice(0, 5));
      for (const follower of followers) await follower.step();
      for (const follower of followers.splice(50)) await follower.leave();
      await driver.append(wholeTurn(1, letters).slice(5));
      const whole = foldedSummary(session, await readBatches(log, session));
      for (const follower of followers) {
        await follower.reach(whole.through);
        assert.deepEqual(summaryOf(follower.folder.state), whole);
        await follower.leave();
      }
    },
  },
  {
    name: 'follow: the driver never waits, and a stalled follower receives the missed records merged',
    async run({ log }) {
      const driver = await log.open(session);
      const [start, begin, ...rest] = wholeTurn(
        1,
        Array.from({ length: 10_000 }, (_, index) => `${index} `),
      );
      assert.ok(start !== undefined && begin !== undefined);
      await driver.append([start, begin]);
      const stalled = Array.from({ length: 5 }, () => new Follower(log, session));
      for (const follower of stalled) await follower.step();
      for (let at = 0; at < rest.length; at += 100) await driver.append(rest.slice(at, at + 100));
      const whole = foldedSummary(session, await readBatches(log, session));
      for (const follower of stalled) {
        await follower.reach(whole.through);
        assert.deepEqual(summaryOf(follower.folder.state), whole);
        const received = follower.batches.flatMap(({ records }) => records).length;
        assert.ok(received < rest.length / 10, `${received} records are not merged`);
        await follower.leave();
      }
    },
  },
  {
    name: 'follow: merged records fold to the same state, and nothing is merged across a fact',
    async run({ log }) {
      const driver = await log.open(session);
      const turns = [wholeTurn(1, letters), wholeTurn(2, letters)];
      const between = marker('between');
      const crossed = turns[0]?.flatMap((draft, at) => [
        draft,
        ...(turns[1]?.slice(at, at + 1) ?? []),
      ]);
      const drafts = (crossed ?? []).flatMap((draft, at) => (at === 15 ? [draft, between] : draft));
      await driver.append(drafts);
      const follower = await new Follower(log, session).reach(drafts.length);
      await follower.leave();
      const merged = follower.batches.flatMap(({ records }) => records);
      const all = await readAll(log, session);
      const isAppend = (record: LogRecord) => record.delta?.type === 'append_text';
      assert.deepEqual(
        merged.filter((record) => !isAppend(record)),
        all.filter((record) => !isAppend(record)),
      );
      assert.ok(merged.length < all.length);
      // A merged append must not contain text from both sides of the fact.
      const fact = all.find((record) => record.fact?.type === 'handed_off')?.offset ?? 0;
      const lengthOf = (records: readonly LogRecord[], isBefore: boolean) =>
        records
          .filter((record) => isAppend(record) && record.offset < fact === isBefore)
          .map(({ delta }) => (delta?.type === 'append_text' ? delta.chunk : ''))
          .join('').length;
      for (const isBefore of [true, false])
        assert.equal(lengthOf(merged, isBefore), lengthOf(all, isBefore));
      assert.deepEqual(
        summaryOf(follower.folder.state),
        foldedSummary(session, [{ after: 0, through: all.length, records: all }]),
      );
    },
  },
  {
    name: 'follow: receives records written through another log on the same store',
    needsDurable: true,
    async run({ log, another }) {
      const driver = await log.open(session);
      await driver.append(markers(1));
      const follower = new Follower(await another(), session);
      await follower.step();
      for (const draft of wholeTurn(1, letters)) {
        void follower.request();
        const { through } = await driver.append([draft]);
        await follower.reach(through);
      }
      const whole = foldedSummary(session, await readBatches(log, session));
      assert.deepEqual(summaryOf(follower.folder.state), whole);
      await follower.leave();
    },
  },
];
