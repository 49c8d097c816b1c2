import { sessionId } from '@millrace/core';
import * as assert from '../../assert.ts';
import {
  answer,
  marker,
  markers,
  runFinished,
  runStarted,
  turnFinished,
  turnStarted,
  wholeTurn,
} from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import { Follower } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';
import { eventLoopSettled } from '../../test-clock.ts';

const session = sessionId('s');
const letters = [...'abcdefghij'];

export const followEndCases: readonly CaseSpec[] = [
  {
    name: 'follow until idle: ends after the last record if nothing is running',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([runStarted, ...wholeTurn(1, letters), runFinished]);
      await log.submit(session, {}, 'waits');
      const follower = await new Follower(log, session, { until: 'idle' }).end();
      assert.equal(follower.through, (await log.info(session))?.through);
      const next = await new Follower(log, follower.folder.state, { until: 'idle' }).end();
      assert.equal(next.batches.length, 0);
    },
  },
  {
    name: 'follow until idle: waits for the end of the open run and turn',
    async run({ log }) {
      const driver = await log.open(session);
      const pieces = [[turnStarted(1)], answer(1, letters), [turnFinished(1)], [runFinished]];
      await driver.append([runStarted]);
      const follower = new Follower(log, session, { until: 'idle' });
      await follower.step();
      for (const piece of pieces) {
        let hasCome = false;
        const next = follower.step().finally(() => {
          hasCome = true;
        });
        await eventLoopSettled();
        assert.equal(hasCome, false, 'it ended or went on before there was anything');
        await driver.append(piece);
        await next;
      }
      assert.equal(await follower.step(), undefined);
      assert.equal(follower.through, (await log.info(session))?.through);
    },
  },
  {
    name: 'follow until idle: waits for an open turn without a run',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([turnStarted(1)]);
      const follower = new Follower(log, session, { until: 'idle' });
      await follower.step();
      const next = follower.step();
      await eventLoopSettled();
      await driver.append([turnFinished(1)]);
      assert.equal((await next)?.through, 2);
      assert.equal(await follower.step(), undefined);
    },
  },
  {
    name: 'follow until closed: ends when the session is closed, with all records',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(2));
      const early = new Follower(log, session, { until: 'closed' });
      await early.step();
      const ended = early.end();
      await log.submit(session, {}, 'k');
      await driver.append([turnStarted(1), marker('last')]);
      await driver.closeSession();
      assert.equal((await ended).through, 5);
      assert.equal((await new Follower(log, session, { until: 'closed' }).end()).through, 5);
      // The session is closed, so no work is open, although a turn was started.
      assert.equal((await new Follower(log, session, { until: 'idle' }).end()).through, 5);
    },
  },
  {
    name: 'follow: without `until` it does not end, even when the session is closed',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([runStarted, runFinished]);
      const left = new AbortController();
      const follower = new Follower(log, session, { signal: left.signal });
      await follower.step();
      let isOver = false;
      const end = follower.end().finally(() => {
        isOver = true;
      });
      await driver.closeSession();
      await eventLoopSettled();
      assert.equal(isOver, false);
      left.abort();
      await end;
    },
  },
  {
    name: 'follow: a signal ends it while it waits, between batches, and before it starts',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(1));
      const waiting = new AbortController();
      const follower = new Follower(log, session, { signal: waiting.signal });
      await follower.step();
      const end = follower.step();
      await eventLoopSettled();
      waiting.abort();
      assert.equal(await end, undefined);
      const between = new AbortController();
      const stopped = new Follower(log, session, { signal: between.signal });
      await stopped.step();
      await driver.append(markers(1));
      between.abort();
      assert.equal(await stopped.step(), undefined);
      const never = new Follower(log, session, { signal: AbortSignal.abort() });
      assert.equal(await never.step(), undefined);
    },
  },
  {
    name: 'follow: ends when the log is closed, and fails when the session is deleted',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(1));
      const [behind, waiting] = [new Follower(log, session), new Follower(log, session)];
      await behind.step();
      await waiting.step();
      await driver.append(markers(1));
      await waiting.step();
      const next = waiting.step();
      await log.delete(session);
      // The follower must throw. If it ended without an error, the reader would believe that the session is
      // complete.
      await assert.rejects(next, { code: 'no_session' });
      // A new session with the same id is a different session.
      await (await log.open(session)).append(markers(5));
      await assert.rejects(behind.step(), { code: 'no_session' });
      const last = new Follower(log, session);
      await last.step();
      const end = last.step();
      await log.close();
      assert.equal(await end, undefined);
    },
  },
  {
    name: 'follow: a follower that exceeds `maxLag` after catching up fails with its cursor',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(20));
      // Records that the follower reads before it has caught up for the first time do not count as lag.
      const follower = await new Follower(log, session, { maxLag: 3 }).reach(20);
      void follower.request();
      await eventLoopSettled();
      await driver.append(markers(1));
      await follower.reach(21);
      await driver.append(markers(4));
      const error = await expectRefusal('lagged', follower.step());
      assert.equal(error.place['cursor'], 21);
      const again = await new Follower(log, follower.folder.state).reach(25);
      await again.leave();
    },
  },
];
