import {
  type DraftRecord,
  isMillraceError,
  itemId,
  partId,
  type SessionId,
  sessionId,
} from '@millrace/core';
import type { Driver, FollowOptions, Log, OpenOptions } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import { answer, fact, marker, markers } from '../../drafts.ts';
import { expectImmediate, expectRefusal } from '../../expectations.ts';
import { Follower, offsets, readAll } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';
import { eventLoopSettled } from '../../test-clock.ts';

const session = sessionId('s');
const other = sessionId('t');
const endless = Number.POSITIVE_INFINITY;
const unreadable = fact({ type: 'handed_off', to: 7 as never });

/**
 * Requests the first batch of a follower. It rejects if `follow` itself throws, or if the first batch fails.
 */
async function firstStep(log: Log, id: SessionId, options?: FollowOptions): Promise<unknown> {
  return log.follow(id, options)[Symbol.asyncIterator]().next();
}

/** Calls that TypeScript rejects, but that can happen with JavaScript or with options from JSON. */
const malformed: Readonly<Record<string, (log: Log, theirs: Driver) => Promise<unknown>>> = {
  'a command without a key': (log) => log.submit(other, {}, undefined as never),
  'no command': (log) => log.submit(other, undefined as never, 'k'),
  'no session to open': (log) => log.open(undefined as never),
  'a holder that is no text': (log) => log.open(other, { holder: 1n as never, takeOver: true }),
  'no session to delete': (log) => log.delete(undefined as never),
  'an empty admission': (log) => log.produce({} as never),
  'no draft': (_, theirs) => theirs.append([null as never]),
  'no drafts': (_, theirs) => theirs.append(undefined as never),
  'nothing to admit for': (_, theirs) => theirs.admit(undefined as never),
  'made at no time': (log) => log.restore(sessionId('u'), [], { createdAt: Number.NaN }),
  'nowhere to fork into': (log) => log.fork(session, { through: 0 } as never),
};

const callsOn: Readonly<Record<string, (log: Log, id: SessionId) => Promise<unknown>>> = {
  open: (log, id) => log.open(id),
  submit: (log, id) => log.submit(id, {}, 'k'),
  findCommand: (log, id) => log.findCommand(id, 'k'),
  read: (log, id) => log.read(id),
  follow: firstStep,
  info: (log, id) => log.info(id),
  settle: (log, id) => log.settle(id, 1),
  fork: (log, id) => log.fork(id, { into: other, through: 0 }),
  'fork into': (log, id) => log.fork(session, { into: id, through: 0 }),
  restore: (log, id) => log.restore(id, []),
  redact: (log, id) => log.redact(id, itemId('i')),
  delete: (log, id) => log.delete(id),
};

const badIds: readonly SessionId[] = [
  '',
  'x'.repeat(10_240),
  'half a pair \ud800',
  'a\u0000b',
  'a\nb',
  '\u007f',
  7,
  null,
].map((id) => id as SessionId);

async function refusesOption(what: string, attempt: Promise<unknown>): Promise<void> {
  const isRefusal = (error: unknown) => isMillraceError(error) && error.code === 'bad_option';
  await assert.rejects(attempt, isRefusal, what);
}

/** Changes the drafts after the call, like a caller that reuses its objects. */
function spoil(drafts: DraftRecord[]): void {
  for (const { delta, fact: what } of drafts) {
    if (delta?.type === 'append_bytes') delta.chunk.fill(0);
    Object.assign(delta ?? what ?? {}, { chunk: 'changed', to: 'changed', at: 99 });
  }
  for (const draft of drafts.splice(0)) Object.assign(draft, { turn: 99 });
}

export const mistakeCases: readonly CaseSpec[] = [
  {
    name: 'invalid call: after a refused append its driver stores nothing more, and earlier appends are stored',
    async run({ log }) {
      const driver = await log.open(session, { leaseMs: endless });
      const first = driver.append([marker('a')]);
      const refused = driver.append([marker('b'), unreadable]);
      const later = [driver.append([marker('c')]), driver.append([]), driver.closeSession()];
      await Promise.allSettled([first, refused, ...later]);
      assert.equal((await first).through, 1);
      const error = await expectRefusal('bad_records', refused);
      for (const attempt of later) await expectRefusal('bad_records', attempt);
      assert.equal(await expectImmediate(driver.lost), error);
      await expectRefusal('bad_records', driver.append([marker('d')]));
      await expectRefusal('bad_records', driver.admit({ for: 'request', turn: 1 }));
      assert.deepEqual(await offsets(log, session), [1]);
      assert.equal((await log.info(session))?.isClosed, false);
    },
  },
  {
    name: 'invalid call: after a refused append the session is free immediately, and a release is allowed',
    async run({ log }) {
      for (const leaseMs of [15_000, endless]) {
        const driver = await log.open(session, { leaseMs });
        await expectRefusal('bad_records', driver.append([unreadable]));
        const next = await log.open(session, { leaseMs });
        await Promise.all([driver.release(), driver.release()]);
        await driver.release();
        assert.equal((await log.info(session))?.lease?.epoch, next.epoch);
        await next.release();
      }
    },
  },
  {
    name: 'invalid call: after a refused append the session is free for another log once all calls are answered',
    needsDurable: true,
    async run({ log, another }) {
      const elsewhere = await another();
      for (const leaseMs of [15_000, endless]) {
        const driver = await log.open(session, { leaseMs });
        const drafts = [marker('a'), unreadable, marker('c')];
        await Promise.allSettled(drafts.map((draft) => driver.append([draft])));
        await (await elsewhere.open(session, { leaseMs })).release();
      }
    },
  },
  {
    name: 'invalid call: after a refused append the session is free for another log once the error is received',
    needsDurable: true,
    async run({ log, another }) {
      const elsewhere = await another();
      for (const leaseMs of [15_000, endless]) {
        const driver = await log.open(session, { leaseMs });
        await expectRefusal('bad_records', driver.append([unreadable]));
        await (await elsewhere.open(session, { leaseMs })).release();
      }
    },
  },
  {
    name: 'invalid call: a controller instead of a signal is refused and affects no other follower',
    async run({ log }) {
      const driver = await log.open(session);
      const waiting = new Follower(log, session);
      void waiting.request();
      await eventLoopSettled();
      for (const signal of [new AbortController(), {}, 'stop'])
        await expectRefusal('bad_option', firstStep(log, session, { signal: signal as never }));
      assert.equal((await driver.append(markers(2))).through, 2);
      await waiting.reach(2);
      await waiting.leave();
    },
  },
  {
    name: 'invalid call: a malformed call is refused, and concurrent writes are stored',
    async run({ log }) {
      const driver = await log.open(session);
      for (const [what, call] of Object.entries(malformed)) {
        const theirs = await log.open(other, { takeOver: true });
        const before = driver.append([marker(what)]);
        const wrong = call(log, theirs);
        const after = log.submit(session, {}, what);
        await Promise.allSettled([before, wrong, after]);
        const isRefusal = (error: unknown) =>
          isMillraceError(error) && /^bad_(option|records)$/.test(error.code);
        await assert.rejects(wrong, isRefusal, what);
        assert.equal((await before).through + 1, (await after).offset);
      }
      assert.equal((await log.info(session))?.through, 2 * Object.keys(malformed).length);
      assert.equal((await log.info(other))?.through, 0);
    },
  },
  {
    name: 'invalid call: an invalid id is refused by every operation, and other sessions can be listed',
    async run({ log }) {
      await (await log.open(session)).append(markers(1));
      for (const [what, call] of Object.entries(callsOn))
        for (const id of badIds)
          await refusesOption(`${what} ${JSON.stringify(id)}`, call(log, id));
      assert.deepEqual(
        (await log.list()).map((info) => info.session),
        [session],
      );
    },
  },
  {
    name: 'invalid call: a command key that is not a short valid text is refused',
    async run({ log }) {
      for (const key of ['', 'x'.repeat(10_240), 'half a pair \ud800', 7 as never])
        await refusesOption(JSON.stringify(key), log.submit(session, {}, key));
      assert.equal(await log.info(session), undefined);
      assert.equal((await log.submit(session, {}, 'x'.repeat(1024))).offset, 1);
    },
  },
  {
    name: 'invalid call: an invalid number is refused by read, list and follow',
    async run({ log }) {
      await (await log.open(session)).append(markers(3));
      for (const maxBytes of [Number.NaN, 0, -1, '9' as never])
        await refusesOption(`maxBytes ${maxBytes}`, log.read(session, { maxBytes }));
      for (const limit of [Number.NaN, 1.5, -1, '9' as never])
        await refusesOption(`limit ${limit}`, log.list({ limit }));
      for (const maxLag of [Number.NaN, -1, '9' as never])
        await refusesOption(`maxLag ${maxLag}`, firstStep(log, session, { maxLag }));
      await refusesOption('until', firstStep(log, session, { until: 'idel' as never }));
      assert.equal((await log.list({ limit: endless })).length, 1);
      assert.equal((await log.read(session, { maxBytes: endless })).through, 3);
    },
  },
  {
    name: 'invalid call: an invalid or too short lease is refused and creates no session',
    async run({ log }) {
      for (const leaseMs of [Number.NaN, 0, -1, 1, -endless, '15000' as never])
        await refusesOption(`leaseMs ${leaseMs}`, log.open(session, { leaseMs }));
      assert.deepEqual(await log.list(), []);
    },
  },
  {
    name: 'invalid call: a lease of 100 days works and is renewed at most hourly',
    async run({ log, clock }) {
      const dayMs = 24 * 3_600_000;
      const terms: OpenOptions = { holder: 'ada', leaseMs: 100 * dayMs };
      const waits: number[] = [];
      const after = clock.after.bind(clock);
      clock.after = (ms, run) => {
        waits.push(ms);
        return after(ms, run);
      };
      await log.open(session, terms);
      const ends = new Set<number | undefined>();
      for (let minutes = 0; minutes < 24 * 60; minutes += 10) {
        await clock.advance(10 * 60_000);
        ends.add((await log.info(session))?.lease?.expiresAt);
      }
      assert.ok(ends.size <= 25, `it was renewed ${ends.size} times a day`);
      // The timer of a runtime treats a longer delay as 0.
      assert.ok(Math.max(...waits) < 2 ** 31);
      clock.jump(98 * dayMs);
      await expectRefusal('held', log.open(session));
      clock.jump(2 * dayMs);
      await log.open(session);
    },
  },
  {
    name: 'invalid call: changing drafts after the call does not change what is stored',
    async run({ log }) {
      const driver = await log.open(session);
      const producer = await log.produce(await driver.admit({ for: 'request', turn: 1 }));
      const id = partId(0, 0, 'p');
      const delta = { type: 'append_bytes', partId: id, at: 0, chunk: Uint8Array.of(1) } as const;
      const drafts = (): DraftRecord[] => [marker('a'), { turn: 0, attempt: 0, delta }];
      const lists = [drafts(), drafts(), [...answer(1, ['a', 'b'])]];
      const given = lists.map((list) => structuredClone(list));
      const [awaited = [], early = [], produced = []] = given;
      const kept = lists.flat();
      await driver.append(awaited);
      spoil(awaited);
      const storing = [driver.append(early), producer.append(produced, 1)];
      const command = { say: 'hello' };
      const submitted = log.submit(session, command, 'k');
      spoil(early);
      spoil(produced);
      command.say = 'changed';
      await Promise.all([...storing, submitted]);
      const said = (records: readonly DraftRecord[]) =>
        records.map(({ turn, delta, fact: what }) => [turn, delta ?? what]);
      const queued = fact({ type: 'command_queued', key: 'k', command: { say: 'hello' } });
      assert.deepEqual(said(await readAll(log, session)), said([...kept, queued]));
    },
  },
];
