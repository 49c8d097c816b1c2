import {
  type DraftRecord,
  executionId,
  type Fact,
  itemId,
  noUsage,
  partId,
  sessionId,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import type { Log } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import {
  answer,
  answerId,
  answerPart,
  turnFinished,
  turnStarted,
  wholeItem,
  wholeTurn,
} from '../../drafts.ts';
import { expectRefusal } from '../../expectations.ts';
import {
  Follower,
  readAll,
  readBatches,
  stateAfter,
  summaryOf,
  summaryOfLog,
} from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const secret = 'xyzzy';
const chunks = ['my ', secret, ' is'];
const drafts = [
  ...wholeItem('i', { kind: 'text', text: 'hello' }),
  ...wholeTurn(1, chunks),
  ...wholeTurn(2, ['fine']),
];

async function assertGone(log: Log): Promise<void> {
  const text = JSON.stringify(await readBatches(log, session));
  assert.equal(text.includes(secret), false, 'the content is still in the log');
}

export const redactCases: readonly CaseSpec[] = [
  {
    name: 'redact: removes the content from all records and appends a fact',
    async run({ log }) {
      await (await log.open(session)).append(drafts);
      const before = await summaryOfLog(log, session);
      await log.redact(session, answerId(1), 'on request');
      await assertGone(log);
      const last = (await readAll(log, session)).at(-1);
      const fact = { type: 'item_redacted', itemId: answerId(1), reason: 'on request' };
      assert.deepEqual([last?.offset, last?.fact], [drafts.length + 1, fact]);
      const expected = before.items.map((item) =>
        item.id === answerId(1) ? { ...item, parts: [], redacted: true } : item,
      );
      assert.deepEqual((await summaryOfLog(log, session)).items, expected);
    },
  },
  {
    name: 'redact: removes the content from snapshots, before and after settling',
    async run({ log }) {
      await (await log.open(session)).append(drafts);
      await log.settle(session, 1);
      await log.redact(session, answerId(1));
      await assertGone(log);
      await log.redact(session, answerId(2));
      const fold = await summaryOfLog(log, session);
      await log.settle(session, 2);
      assert.deepEqual(await summaryOfLog(log, session), fold);
      assert.deepEqual(
        fold.items.map(({ parts }) => parts.length),
        [1, 0, 0],
      );
    },
  },
  {
    name: 'redact: a reader that stopped anywhere before ends with the same state',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(drafts);
      const records = await readAll(log, session);
      const followers: Follower[] = [];
      for (let through = 0; through <= records.length; through++) {
        const had = { after: 0, through, records: records.slice(0, through) };
        followers.push(new Follower(log, stateAfter(session, through === 0 ? [] : [had])));
      }
      void followers.at(-1)?.request();
      await log.redact(session, answerId(1));
      const fold = await summaryOfLog(log, session);
      for (const follower of followers) {
        await follower.reach(fold.through);
        assert.deepEqual(summaryOf(follower.folder.state), fold);
        await follower.leave();
      }
      assert.equal((await driver.append([])).records[0]?.fact?.type, 'item_redacted');
    },
  },
  {
    name: 'redact: a page can start at a removed record and is never empty',
    async run({ log }) {
      const driver = await log.open(session);
      const id = partId(0, 0, 'own');
      const delta = { type: 'retract_part', partId: id, reason: 'withdrawn' } as const;
      await driver.append(wholeItem('other', { kind: 'text', text: 'x'.repeat(1000) }));
      await driver.append(wholeItem('own', { kind: 'text', text: secret }));
      await driver.append([{ turn: 0, attempt: 0, delta }]);
      await log.redact(session, itemId('own'));
      const { through } = { ...(await log.info(session)) };
      for (let from = 0; from < (through ?? 0); from++) {
        const { records } = await log.read(session, { from, maxBytes: 1 });
        assert.ok(records.length > 0, `nothing after ${from}`);
      }
    },
  },
  {
    name: 'redact: a retraction after settling leaves a log that still folds',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(drafts);
      await log.settle(session, 1);
      const partId = answerPart(1);
      const delta = { type: 'retract_part', partId, reason: 'withdrawn' } as const;
      await driver.append([{ turn: 1, attempt: 1, delta }]);
      await log.redact(session, answerId(1));
      await assertGone(log);
      assert.equal((await summaryOfLog(log, session)).through, drafts.length + 2);
    },
  },
  {
    name: 'redact: an unfinished item is refused and stays unchanged',
    async run({ log }) {
      const driver = await log.open(session);
      const pieces = [[turnStarted(1)], ...answer(1, chunks).map((draft) => [draft])];
      await driver.append(pieces[0] ?? []);
      for (const piece of pieces.slice(1)) {
        await driver.append(piece);
        const before = await readAll(log, session);
        await expectRefusal('bad_records', log.redact(session, answerId(1)));
        assert.deepEqual(await readAll(log, session), before);
      }
      // While the turn is open, the item may still change.
      await driver.append([turnFinished(1)]);
      await log.redact(session, answerId(1));
      await assertGone(log);
    },
  },
  {
    name: 'redact: an unknown item is refused, so that the log still folds',
    async run({ log }) {
      await (await log.open(session)).append(drafts);
      await expectRefusal('bad_option', log.redact(session, itemId('nobody')));
      assert.equal((await summaryOfLog(log, session)).through, drafts.length);
    },
  },
  {
    name: 'redact: removes the content of superseded attempts',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([turnStarted(1)]);
      const behind = await new Follower(log, session).reach(1);
      await driver.append([
        ...answer(1, chunks).slice(0, 5),
        { turn: 1, attempt: 1, fact: { type: 'attempt_superseded', reason: 'retry' } },
      ]);
      await expectRefusal('bad_records', log.redact(session, answerId(1)));
      await driver.append([...answer(1, ['fine'], 2), turnFinished(1)]);
      const before = await summaryOfLog(log, session);
      await log.redact(session, answerId(1));
      await assertGone(log);
      await behind.reach(before.through);
      assert.equal(JSON.stringify(behind.batches.slice(1)).includes(secret), false);
      await behind.leave();
      assert.deepEqual((await summaryOfLog(log, session)).items, before.items);
    },
  },
  {
    name: 'redact: the last records can be removed, and readers still reach the end',
    async run({ log }) {
      const driver = await log.open(session);
      const superseded = { type: 'attempt_superseded', reason: 'late' } as const;
      await driver.append([
        ...wholeTurn(1, chunks),
        { turn: 1, attempt: 1, fact: superseded },
        {
          turn: 1,
          attempt: 1,
          delta: { type: 'retract_part', partId: answerPart(1), reason: 'again' },
        },
      ]);
      const { through } = { ...(await log.info(session)) };
      const follower = new Follower(log, session);
      await log.redact(session, answerId(1));
      await assertGone(log);
      assert.equal((await summaryOfLog(log, session)).through, through);
      await follower.reach(through ?? 0);
      await follower.leave();
      const copy = await log.fork(session, { into: sessionId('t'), through: through ?? 0 });
      assert.equal(copy.through, through);
      assert.equal((await driver.append([turnStarted(2)])).through, (through ?? 0) + 1);
    },
  },
  {
    name: 'redact: works twice and on a closed session',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(drafts);
      await driver.closeSession();
      await log.redact(session, answerId(1));
      await log.redact(session, answerId(1));
      await assertGone(log);
      const { items } = await summaryOfLog(log, session);
      assert.equal(items.find(({ id }) => id === answerId(1))?.redacted, true);
      assert.equal((await log.info(session))?.isClosed, true);
    },
  },
  ...[false, true].map(
    (isSettled): CaseSpec => ({
      name: `redact: facts do not repeat what was in the item, and say all else that they said${isSettled ? ', of a settled turn too' : ''}`,
      async run({ log }) {
        const [item, id, at] = [itemId('calls'), toolCallId('c'), { turn: 1, attempt: 1 }];
        const input = { query: secret };
        const part = toolCallPart(id, 'search', input);
        const facts: readonly Fact[] = [
          {
            ...{ type: 'approval_asked', toolCallId: id, name: 'search' },
            ...{ reason: secret, judged: secret },
          },
          {
            ...{ type: 'approval_answered', toolCallId: id, name: 'search', decision: 'allow' },
            ...{ input, basis: secret },
          },
          {
            type: 'tool_execution_started',
            toolCallId: id,
            name: 'search',
            executionId: executionId('x'),
            summary: secret,
          },
          {
            type: 'tool_call_rejected',
            toolCallId: id,
            name: 'search',
            code: 'denied',
            message: secret,
          },
          { type: 'compacted', itemIds: [item], summary: secret },
        ];
        const stop = { reason: 'stop' } as const;
        const finished = { type: 'response_finished', itemId: item, stop, usage: noUsage } as const;
        const others = facts
          .slice(0, 4)
          .map((one) => ({ ...one, toolCallId: toolCallId('other') }));
        const driver = await log.open(session);
        await log.submit(session, { type: 'message', itemId: item, text: secret }, 'k');
        const items = [
          { id: item, text: secret },
          { id: 'other', text: 'kept' },
        ];
        await log.submit(session, { type: 'message', items }, 'k2');
        await driver.append([
          turnStarted(1),
          { ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } },
          { ...at, delta: { type: 'commit_part', partId: partId(1, 1, 'p'), itemId: item, part } },
          { ...at, fact: { ...finished, details: { model: 'kept', other: { text: secret } } } },
          ...[...facts, ...others].map((one): DraftRecord => ({ ...at, fact: one })),
          turnFinished(1),
        ]);
        if (isSettled) assert.equal(await log.settle(session, 1), true);
        await log.redact(session, item);
        const lines = (await readAll(log, session)).map(({ fact }) => JSON.stringify(fact));
        const own = lines.filter((line) => line?.includes(secret) && !line.includes('"other"'));
        assert.deepEqual(own, []);
        assert.equal(
          lines.filter((line) => line?.includes('"other"') && line.includes(secret)).length,
          4,
        );
        assert.ok(lines.includes(JSON.stringify({ type: 'compacted', itemIds: [item] })));
        assert.ok(lines.some((line) => line?.includes('"details":{"model":"kept"}')));
        assert.ok(lines.some((line) => line?.includes('"items":[{"id":"other","text":"kept"}]')));
      },
    }),
  ),
  {
    name: 'redact: removes a blob that only the item references',
    async run({ log }) {
      const { hash, length } = await log.blobs.put(new TextEncoder().encode(secret));
      const shared = await log.blobs.put(new TextEncoder().encode('shared'));
      const media = (source: { readonly hash: string; readonly length: number }) =>
        ({ kind: 'media', mimeType: 'a/b', source: { type: 'blob', ...source } }) as const;
      const driver = await log.open(session);
      await driver.append(wholeItem('own', media({ hash, length })));
      await driver.append([...wholeItem('a', media(shared)), ...wholeItem('b', media(shared))]);
      await log.redact(session, itemId('own'));
      await log.redact(session, itemId('a'));
      assert.equal(await log.blobs.get(hash), undefined);
      assert.notEqual(await log.blobs.get(shared.hash), undefined);
    },
  },
  {
    name: 'redact: persists after reopening the store',
    needsDurable: true,
    async run({ log, another }) {
      await (await log.open(session)).append(drafts);
      await log.redact(session, answerId(1));
      const fold = await summaryOfLog(log, session);
      await log.close();
      const again = await another();
      await assertGone(again);
      assert.deepEqual(await summaryOfLog(again, session), fold);
    },
  },
];
