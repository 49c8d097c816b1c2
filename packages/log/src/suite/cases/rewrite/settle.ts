import {
  type DraftRecord,
  type FoldState,
  itemId,
  type Part,
  partId,
  sessionId,
  toolCallId,
} from '@millrace/core';
import type { Log } from '../../../contract/log.ts';
import * as assert from '../../assert.ts';
import {
  answer,
  answerId,
  answerPart,
  fact,
  marker,
  turnFinished,
  turnStarted,
  wholeItem,
  wholeTurn,
} from '../../drafts.ts';
import {
  Follower,
  offsets,
  readAll,
  readBatches,
  stateAfter,
  summaryOf,
  summaryOfLog,
} from '../../follower.ts';
import type { CaseSpec } from '../../log-subject.ts';

const session = sessionId('s');
const letters = [...'abcdefghij'];
const hello = { kind: 'text', text: 'hello' } as const;

/** Drafts of a turn with a user message in the middle, and with records before and after the turn. */
const crowded: readonly DraftRecord[] = [
  marker('before'),
  ...wholeTurn(1, letters).slice(0, 8),
  ...wholeItem('i', hello),
  ...wholeTurn(1, letters).slice(8),
  marker('after'),
];
/** The offsets of the turn's first and last delta. */
const [first, last] = [4, 4 + 11 + 3];

/** Returns the folded state at each offset. */
async function statesAt(log: Log): Promise<readonly FoldState[]> {
  const records = await readAll(log, session);
  return [0, ...records.map(({ offset }) => offset)].map((through) => {
    const had = { after: 0, through, records: records.filter(({ offset }) => offset <= through) };
    return stateAfter(session, through === 0 ? [] : [had]);
  });
}

export const settleCases: readonly CaseSpec[] = [
  {
    name: 'settle: a snapshot replaces the deltas of a turn, and everything else stays',
    async run({ log }) {
      await (await log.open(session)).append(crowded);
      const before = await readAll(log, session);
      const fold = await summaryOfLog(log, session);
      assert.equal(await log.settle(session, 1), true);
      const after = await readAll(log, session);
      const isOwn = ({ turn, delta }: (typeof before)[number]) => turn === 1 && delta !== undefined;
      const snapshot = after.find(({ offset }) => offset === last);
      assert.deepEqual(snapshot?.fact, {
        type: 'snapshot',
        covers: [first, last],
        items: [
          {
            itemId: answerId(1),
            parts: [{ partId: answerPart(1), part: { kind: 'text', text: letters.join('') } }],
          },
        ],
      });
      assert.deepEqual(
        after.filter((record) => record !== snapshot),
        before.filter((record) => !isOwn(record)),
      );
      assert.deepEqual(await summaryOfLog(log, session), fold);
      assert.equal((await log.info(session))?.through, before.length);
    },
  },
  {
    name: 'settle: a reader that stopped anywhere before gets the snapshot and ends with the same state',
    async run({ log }) {
      await (await log.open(session)).append(crowded);
      const states = await statesAt(log);
      const fold = await summaryOfLog(log, session);
      await log.settle(session, 1);
      for (const state of states) {
        const batches = await readBatches(log, session, { from: state.through });
        const gotIt = batches.some(({ records }) =>
          records.some((record) => record.fact?.type === 'snapshot'),
        );
        assert.equal(gotIt, state.through < last);
        assert.deepEqual(summaryOf(stateAfter(state, batches)), fold);
      }
    },
  },
  {
    name: 'settle: no batch ends inside a settled range',
    async run({ log }) {
      await (await log.open(session)).append(crowded);
      await log.settle(session, 1);
      for (let from = 0; from < crowded.length; from++) {
        const pages = await readBatches(log, session, { from, maxBytes: 1 });
        for (const { through } of pages)
          assert.ok(through < first || through >= last, `a page after ${from} ends at ${through}`);
      }
    },
  },
  {
    name: 'settle: no batch ends inside a long settled range',
    async run({ log }) {
      const driver = await log.open(session);
      const long = marker('x'.repeat(10_000));
      const [start, ...rest] = wholeTurn(1, letters);
      for (const draft of rest) await driver.append([draft, long, long]);
      assert.ok(start !== undefined);
      const fold = await summaryOfLog(log, session);
      await log.settle(session, 1);
      // Other changes of records must not change where pages end.
      await driver.append(wholeItem('i', hello));
      await log.redact(session, itemId('i'));
      const pages = await readBatches(log, session, { maxBytes: 1 });
      const [covers] = pages.flatMap(({ records }) =>
        records.flatMap(({ fact: what }) => (what?.type === 'snapshot' ? [what.covers] : [])),
      );
      assert.deepEqual(covers, [4, 37]);
      assert.ok(pages.length > 1);
      for (const { through } of pages) assert.ok(through < 4 || through >= 37, `${through}`);
      assert.deepEqual((await summaryOfLog(log, session)).items.slice(0, -1), fold.items);
    },
  },
  {
    name: 'settle: overlapping turns can both be settled',
    async run({ log }) {
      const driver = await log.open(session);
      const [one, two] = [wholeTurn(1, letters), wholeTurn(2, letters)];
      for (let at = 0; at < one.length; at++)
        await driver.append([...one.slice(at, at + 1), ...two.slice(at, at + 1)]);
      const states = await statesAt(log);
      const fold = await summaryOfLog(log, session);
      for (const turn of [1, 2]) {
        assert.equal(await log.settle(session, turn), true);
        for (const state of states) {
          const batches = await readBatches(log, session, { from: state.through, maxBytes: 1 });
          assert.deepEqual(summaryOf(stateAfter(state, batches)), fold);
        }
      }
    },
  },
  {
    name: 'settle: does nothing for an unfinished, missing or settled turn',
    async run({ log }) {
      const driver = await log.open(session);
      const turn = wholeTurn(1, letters);
      await driver.append([...wholeItem('i', hello), ...turn.slice(0, -1)]);
      const before = await readAll(log, session);
      for (const other of [0, 1, 2, -1, 0.5]) assert.equal(await log.settle(session, other), false);
      assert.deepEqual(await readAll(log, session), before);
      await driver.append(turn.slice(-1));
      assert.equal(await log.settle(session, 1), true);
      assert.equal(await log.settle(session, 1), false);
      await driver.append([turnStarted(2), turnFinished(2)]);
      assert.equal(await log.settle(session, 2), false);
    },
  },
  {
    name: 'settle: does nothing for a finished turn with an open item',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([turnStarted(1), ...answer(1, letters).slice(0, -1), turnFinished(1)]);
      assert.equal(await log.settle(session, 1), false);
    },
  },
  {
    name: 'settle: the driver and the followers continue afterwards',
    async run({ log }) {
      const driver = await log.open(session);
      const follower = new Follower(log, session);
      void follower.request();
      await driver.append(wholeTurn(1, letters));
      await follower.step();
      const behind = await new Follower(log, session).reach(1);
      await log.settle(session, 1);
      const { after, through } = await driver.append(wholeTurn(2, letters));
      assert.deepEqual([after, through], [16, 32]);
      for (const one of [follower, behind]) {
        await one.reach(through);
        assert.deepEqual(summaryOf(one.folder.state), await summaryOfLog(log, session));
        await one.leave();
      }
    },
  },
  {
    name: 'settle: keeps the blobs and attachments of the snapshot and removes the others',
    async run({ log }) {
      const put = async (text: string) => log.blobs.put(new TextEncoder().encode(text));
      const [picture, paper, gone] = [await put('picture'), await put('paper'), await put('gone')];
      const media = (ref: typeof picture) =>
        ({ kind: 'media', mimeType: 'a/b', source: { type: 'blob', ...ref } }) as const;
      const result = { kind: 'tool_result', toolCallId: toolCallId('c'), name: 'look' } as const;
      const whole = (attempt: number, name: string, part: Part): DraftRecord => ({
        ...{ turn: 1, attempt },
        delta: {
          type: 'commit_part',
          partId: partId(1, attempt, name),
          itemId: item(attempt),
          part,
        },
      });
      const item = (attempt: number) => itemId(`item ${attempt}`);
      const started = (attempt: number): DraftRecord => ({
        ...{ turn: 1, attempt },
        fact: { type: 'item_started', itemId: item(attempt), kind: 'assistant' },
      });
      const driver = await log.open(session);
      await driver.append([
        turnStarted(1),
        started(1),
        whole(1, 'gone', media(gone)),
        { turn: 1, attempt: 1, fact: { type: 'attempt_superseded', reason: 'again' } },
        started(2),
        whole(2, 'picture', media(picture)),
        whole(2, 'result', { ...result, text: '', isError: false, attachments: [media(paper)] }),
        { turn: 1, attempt: 2, fact: { type: 'item_finished', itemId: item(2) } },
        turnFinished(1),
      ]);
      assert.equal(await log.settle(session, 1), true);
      assert.notEqual(await log.blobs.get(picture.hash), undefined);
      assert.notEqual(await log.blobs.get(paper.hash), undefined);
      assert.equal(await log.blobs.get(gone.hash), undefined);
      await log.delete(session);
      assert.equal(await log.blobs.get(picture.hash), undefined);
      assert.equal(await log.blobs.get(paper.hash), undefined);
    },
  },
  {
    name: 'settle: a slow follower gets the snapshot, even if others got the deltas live',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([marker('first')]);
      const behind = await new Follower(log, session).reach(1);
      await driver.append(wholeTurn(1, letters));
      await log.settle(session, 1);
      const batch = await behind.step();
      const types = batch?.records.map((record) => (record.delta ?? record.fact).type);
      assert.ok(types?.includes('snapshot'));
      assert.equal(types?.includes('append_text'), false);
      await behind.leave();
    },
  },
  {
    name: 'settle: the snapshot contains nothing of superseded attempts',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([
        turnStarted(1),
        ...answer(1, ['a secret']).slice(0, 3),
        { turn: 1, attempt: 1, fact: { type: 'attempt_superseded', reason: 'retry' } },
        ...answer(1, letters, 2),
        turnFinished(1),
      ]);
      const fold = await summaryOfLog(log, session);
      assert.equal(await log.settle(session, 1), true);
      assert.deepEqual(await summaryOfLog(log, session), fold);
      assert.equal(JSON.stringify(await readAll(log, session)).includes('a secret'), false);
    },
  },
  {
    name: 'settle: a turn with a later retraction can be settled again',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append(crowded);
      const states = await statesAt(log);
      await log.settle(session, 1);
      const partId = answerPart(1);
      const delta = { type: 'retract_part', partId, reason: 'withdrawn' } as const;
      await driver.append([{ turn: 1, attempt: 1, delta }]);
      const fold = await summaryOfLog(log, session);
      assert.equal(await log.settle(session, 1), true);
      const snapshots = (await readAll(log, session)).flatMap(({ fact: what }) =>
        what?.type === 'snapshot' ? what : [],
      );
      assert.deepEqual(snapshots, [
        { type: 'snapshot', covers: [first, crowded.length + 1], items: [] },
      ]);
      for (const state of states) {
        const batches = await readBatches(log, session, { from: state.through });
        assert.deepEqual(summaryOf(stateAfter(state, batches)), fold);
      }
    },
  },
  {
    name: 'settle: what a driver redacted stays redacted',
    async run({ log }) {
      const driver = await log.open(session);
      await driver.append([
        turnStarted(1),
        ...answer(1, letters),
        ...answer(1, letters, 2).slice(0, -1),
        fact({ type: 'item_redacted', itemId: answerId(1) }),
        ...answer(1, letters, 2).slice(-1),
        turnFinished(1),
      ]);
      const fold = await summaryOfLog(log, session);
      await log.settle(session, 1);
      assert.deepEqual(await summaryOfLog(log, session), fold);
    },
  },
  {
    name: 'settle: persists after reopening the store',
    needsDurable: true,
    async run({ log, another }) {
      await (await log.open(session)).append(crowded);
      await log.settle(session, 1);
      const left = await readAll(log, session);
      await log.close();
      const again = await another();
      assert.deepEqual(await readAll(again, session), left);
      assert.equal(await again.settle(session, 1), false);
      const driver = await again.open(session, { from: crowded.length });
      await driver.append([marker('on')]);
      assert.equal((await offsets(again, session)).at(-1), crowded.length + 1);
    },
  },
];
