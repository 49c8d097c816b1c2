import { type LogRecord, type SessionId, sessionId } from '@millrace/core';
import type { Driver, Log } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import {
  answer,
  answerId,
  fact,
  marker,
  markers,
  runFinished,
  runStarted,
  turnFinished,
  turnStarted,
} from '../../drafts.ts';
import { expectImmediate, expectRefusal } from '../../expectations.ts';
import { Follower, offsets, readAll, stateAfter } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';
import { eventLoopSettled, nextMacrotask } from '../../test-clock.ts';

const session = sessionId('s');
const copy = sessionId('copy');
const endless = Number.POSITIVE_INFINITY;
const long = 'x'.repeat(2 ** 16);

async function codeOfLoss({ lost }: Driver): Promise<unknown> {
  return ((await expectImmediate(lost)) as { code?: string }).code;
}

/** Creates a session with three records. Returns the records for a later session with the same id. */
async function someRecords(log: Log, id: SessionId): Promise<readonly LogRecord[]> {
  await (await log.open(id)).append(markers(3, 'its own'));
  await (await log.open(copy)).append(markers(6, "another one's"));
  return readAll(log, copy);
}

async function waitingFor(log: Log, id: SessionId): Promise<Follower> {
  const follower = await new Follower(log, id).reach(3);
  follower.request().catch(() => {});
  await eventLoopSettled();
  return follower;
}

/** Converts an async iterable to a stream, because browsers do not have `ReadableStream.from` yet. */
function readableStream<T>(values: AsyncIterable<T>): ReadableStream<T> {
  const iterator = values[Symbol.asyncIterator]();
  return new ReadableStream<T>({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

async function isWaiting(log: Log): Promise<boolean> {
  const { hasWork } = (await log.info(session)) ?? {};
  const waiting = (await log.list({ isWaiting: true })).length === 1;
  assert.equal(hasWork, waiting);
  return waiting;
}

/**
 * The error codes for a session that was deleted and created again. A store with one incarnation per session
 * cannot distinguish this case from a rewind.
 */
const replaced = ['no_session', 'rewound'] as const;

export const neighbourCases: readonly CaseSpec[] = [
  {
    name: 'shared store: a slow follower gets an error when another log deletes the session, and skips nothing',
    needsDurable: true,
    async run({ log, another }) {
      const elsewhere = await another();
      for (const isMadeAgain of [false, true]) {
        const driver = await log.open(session);
        for (let count = 0; count < 3; count++) await driver.append(markers(16, long));
        const follower = new Follower(log, session);
        await follower.step();
        await elsewhere.delete(session);
        if (isMadeAgain) await (await elsewhere.open(session)).append(markers(60));
        await expectRefusal(isMadeAgain ? replaced : 'no_session', follower.step());
        await elsewhere.delete(session);
      }
    },
  },
  {
    name: 'shared store: a waiting follower gets an error when the session is replaced by an equal one',
    async run({ log }) {
      const records = await someRecords(log, session);
      const { createdAt } = { ...(await log.info(session)) };
      const follower = await waitingFor(log, session);
      await Promise.all([log.delete(session), log.restore(session, records, { createdAt })]);
      await expectRefusal(replaced, follower.step());
    },
  },
  {
    name: 'shared store: a waiting follower gets an error when another log replaces the session by an equal one',
    needsDurable: true,
    async run({ log, another }) {
      const records = await someRecords(log, session);
      const { createdAt } = { ...(await log.info(session)) };
      const follower = await waitingFor(log, session);
      const elsewhere = await another();
      const restored = () => elsewhere.restore(session, records, { createdAt });
      await Promise.all([elsewhere.delete(session), restored()]);
      await expectRefusal(replaced, follower.step());
    },
  },
  {
    name: 'shared store: a waiting follower can stop immediately',
    async run({ log }) {
      await (await log.open(session)).append(markers(1));
      const batches = log.follow(session, { from: 1 })[Symbol.asyncIterator]();
      const next = batches.next();
      await eventLoopSettled();
      assert.equal((await expectImmediate(batches.return?.() ?? next)).done, true);
      assert.equal((await expectImmediate(next)).done, true);
      assert.equal((await expectImmediate(batches.next())).done, true);
      const stream = readableStream(log.follow(session, { from: 1 })).getReader();
      const read = stream.read();
      await eventLoopSettled();
      await expectImmediate(stream.cancel());
      assert.equal((await expectImmediate(read)).done, true);
    },
  },
  {
    name: 'shared store: a waiting follower that stops does not affect the others',
    async run({ log }) {
      const driver = await log.open(session);
      const followers = [new Follower(log, session), new Follower(log, session)] as const;
      for (const follower of followers) void follower.request();
      await eventLoopSettled();
      await expectImmediate(followers[0].leave());
      await driver.append(markers(2));
      await followers[1].reach(2);
      await followers[1].leave();
    },
  },
  {
    name: 'shared store: a log that is closed while opening a session leaves no lease',
    needsDurable: true,
    async run({ log, another }) {
      const elsewhere = await another();
      const busy = await another();
      await busy.submit(sessionId('t'), {}, 'k');
      for (const [index, closing] of [log, busy].entries()) {
        const id = sessionId(`s${index}`);
        const opening = closing.open(id, { leaseMs: endless });
        const closed = closing.close();
        await Promise.allSettled([opening, closed]);
        assert.equal((await elsewhere.info(id))?.lease, undefined);
        await elsewhere.open(id);
        const driver = await opening.catch(() => undefined);
        if (driver !== undefined) assert.equal(await codeOfLoss(driver), 'closed');
      }
    },
  },
  {
    name: 'shared store: content of a superseded attempt that another log redacted is not delivered any more',
    needsDurable: true,
    async run({ log, another }) {
      const driver = await log.open(session);
      const start = await driver.append([turnStarted(1)]);
      const old = await new Follower(log, session).reach(1);
      const superseded = { type: 'attempt_superseded', reason: 'retry' } as const;
      const { through } = await driver.append([
        ...answer(1, ['xyzzy']).slice(0, 3),
        { turn: 1, attempt: 1, fact: superseded },
        ...answer(1, ['fine'], 2),
        turnFinished(1),
      ]);
      await old.reach(through);
      await (await another()).redact(session, answerId(1));
      const late = await new Follower(log, stateAfter(session, [start])).reach(through);
      assert.equal(JSON.stringify(late.batches).includes('xyzzy'), false);
      assert.equal(JSON.stringify(late.batches).includes('fine'), true);
      await Promise.all([old.leave(), late.leave()]);
    },
  },
  {
    name: 'shared store: a driver learns of a takeover or deletion in its own log immediately',
    async run({ log }) {
      for (const leaseMs of [15_000, endless]) {
        const ada = await log.open(session, { leaseMs });
        const bob = await log.open(session, { leaseMs, takeOver: true });
        assert.equal(await codeOfLoss(ada), 'fenced');
        assert.equal((await bob.append([marker('mine')])).through, 1);
        await log.delete(session);
        assert.equal(await codeOfLoss(bob), 'no_session');
      }
    },
  },
  {
    name: 'shared store: a driver learns of a takeover or deletion by another log within seconds',
    needsDurable: true,
    async run({ log, another, clock }) {
      const elsewhere = await another();
      for (const leaseMs of [15_000, endless]) {
        const ada = await log.open(session, { leaseMs });
        await elsewhere.open(session, { leaseMs, takeOver: true });
        await clock.advance(10_000);
        assert.equal(await codeOfLoss(ada), 'fenced');
        const bob = await log.open(session, { leaseMs, takeOver: true });
        await elsewhere.delete(session);
        await clock.advance(10_000);
        assert.equal(await codeOfLoss(bob), 'no_session');
      }
    },
  },
  {
    name: 'shared store: a fork during a delete is a complete copy or fails',
    async run({ log }) {
      const fork = () => log.fork(session, { into: copy, through: 3 });
      await (await log.open(session)).append(markers(3));
      const [kept] = await Promise.all([fork(), log.delete(session)]);
      assert.equal(kept.through, 3);
      assert.deepEqual(await offsets(log, copy), [1, 2, 3]);
      await log.delete(copy);
      await (await log.open(session)).append(markers(3));
      const deleted = log.delete(session);
      await expectRefusal('no_session', fork());
      await deleted;
      assert.equal(await log.info(copy), undefined);
    },
  },
  {
    name: 'shared store: a command that is consumed twice does not hide the next one',
    async run({ log }) {
      const consumed = fact({ type: 'command_consumed', key: 'k' });
      const driver = await log.open(session);
      await log.submit(session, {}, 'k');
      await driver.append([consumed, consumed, fact({ type: 'command_consumed', key: 'none' })]);
      await driver.append([consumed]);
      await driver.release();
      assert.equal(await isWaiting(log), false);
      await log.submit(session, {}, 'next');
      assert.equal(await isWaiting(log), true);
    },
  },
  {
    name: 'shared store: a run or turn that is started twice and finished once is finished',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([runStarted, turnStarted(1), runStarted]);
      await driver.append([turnStarted(1), turnFinished(1), runFinished]);
      await driver.release();
      assert.equal(await isWaiting(log), false);
    },
  },
  {
    name: 'shared store: a waiting follower does not lag, however many records arrive together',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(markers(1));
      const follower = await new Follower(log, session, { maxLag: 3 }).reach(1);
      for (const through of [11, 21]) {
        void follower.request();
        await eventLoopSettled();
        await driver.append(markers(10));
        assert.equal((await follower.step())?.through, through);
      }
      await follower.leave();
    },
  },
  {
    name: 'shared store: a follower that catches up lets other work run',
    async run({ log }) {
      const driver = await log.open(session);
      for (let count = 0; count < 20; count++) await driver.append(markers(16, long));
      let hasCome = false;
      void nextMacrotask().then(() => {
        hasCome = true;
      });
      for await (const { through } of log.follow(session)) if (through === 320) break;
      assert.equal(hasCome, true);
    },
  },
];
