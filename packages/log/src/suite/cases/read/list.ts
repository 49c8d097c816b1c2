import { MillraceError, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '../../../contract/log.ts';
import type { SessionFilter } from '../../../contract/session-info.ts';
import * as assert from '../../assert.ts';
import { fact, marker, markers, runFinished, runStarted, turnStarted } from '../../drafts.ts';
import { Follower, offsets } from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

/** Unusual ids, in the order of their code points. */
const oddIds: readonly SessionId[] = [
  ' ',
  '"',
  '%',
  "' OR '1'='1",
  "'); DROP TABLE sessions; --",
  '../../etc/passwd',
  '__proto__',
  'a',
  'aa',
  'a'.repeat(1024),
  'b',
  'constructor',
  'e\u0301',
  '\u00e9',
  '\u2028',
  '\uff5e',
  '😀',
].map(sessionId);

async function listed(log: Log, filter: SessionFilter = {}): Promise<readonly SessionId[]> {
  return (await log.list(filter)).map(({ session }) => session);
}

export const listCases: readonly CaseSpec[] = [
  {
    name: 'list: returns every session in the code point order of the ids',
    async run({ log }) {
      assert.deepEqual(await listed(log), []);
      for (const id of [...oddIds].reverse()) await log.open(id);
      assert.deepEqual(await listed(log), oddIds);
    },
  },
  {
    name: 'list: supports pages',
    async run({ log }) {
      for (const id of oddIds) await log.open(id);
      for (const limit of [1, 4, 100]) {
        const pages: SessionId[] = [];
        for (let page = await listed(log, { limit }); page.length > 0; ) {
          pages.push(...page);
          assert.ok(page.length <= limit);
          page = await listed(log, { limit, after: page.at(-1) });
        }
        assert.deepEqual(pages, oddIds);
      }
      assert.deepEqual(await listed(log, { limit: 0 }), []);
      assert.deepEqual(await listed(log, { after: sessionId('az'), limit: 1 }), ['b']);
    },
  },
  {
    name: 'list: unusual ids are kept unchanged',
    async run({ log }) {
      for (const [index, id] of oddIds.entries())
        await (await log.open(id)).append(markers(index + 1));
      for (const [index, id] of oddIds.entries()) {
        assert.equal((await offsets(log, id)).length, index + 1);
        assert.equal((await log.info(id))?.session, id);
        assert.equal((await new Follower(log, id, { until: 'idle' }).end()).through, index + 1);
      }
      for (const id of oddIds.slice(1)) await log.delete(id);
      assert.deepEqual(await listed(log), oddIds.slice(0, 1));
    },
  },
  {
    name: 'list: an id of 10 KB is refused before it reaches the store',
    async run() {
      assert.throws(
        () => sessionId('x'.repeat(10_240)),
        (error) => error instanceof MillraceError && error.code === 'bad_id',
      );
    },
  },
  {
    name: 'list: shows when sessions were created and changed',
    async run({ log, clock }) {
      const [session, made] = [sessionId('s'), clock.now()];
      const driver = await log.open(session);
      clock.jump(500);
      await driver.append([marker('later')]);
      const [info] = await log.list();
      assert.deepEqual([info?.createdAt, info?.changedAt], [made, made + 500]);
      assert.deepEqual(await log.info(session), info);
    },
  },
  {
    name: 'list: waiting sessions have open work and no living driver',
    async run({ log, clock }) {
      const run = async (name: string, ...drafts: Parameters<typeof fact>[0][]) => {
        const driver = await log.open(sessionId(name), { leaseMs: 60_000 });
        await driver.append(drafts.map(fact));
        return driver;
      };
      const [started, finished] = [runStarted.fact, runFinished.fact];
      assert.ok(started && finished);
      await run('a driven', started);
      await (await run('b interrupted', started)).release();
      await (await run('c done', started, finished)).release();
      await log.submit(sessionId('d command'), {}, 'k');
      const driver = await log.open(sessionId('e turn'));
      await driver.append([turnStarted(1)]);
      await driver.release();
      await (await run('f closed', started)).closeSession();
      await log.submit(sessionId('g consumed'), {}, 'k');
      await (await run('g consumed', { type: 'command_consumed', key: 'k' })).release();
      await run('h empty');
      const waiting = ['b interrupted', 'd command', 'e turn'];
      assert.deepEqual(await listed(log, { isWaiting: true }), waiting);
      const rest = ['a driven', 'c done', 'f closed', 'g consumed', 'h empty'];
      assert.deepEqual(await listed(log, { isWaiting: false }), rest);
      assert.deepEqual(await listed(log, { isClosed: true }), ['f closed']);
      assert.equal((await listed(log, { isClosed: false })).length, 7);
      assert.deepEqual(await listed(log, { isWaiting: true, limit: 2 }), waiting.slice(0, 2));
      const after = sessionId('b interrupted');
      assert.deepEqual(await listed(log, { isWaiting: true, limit: 1, after }), ['d command']);
      // After this time, the lease of the first session has expired.
      clock.jump(60_000);
      assert.deepEqual(await listed(log, { isWaiting: true }), ['a driven', ...waiting]);
    },
  },
];
