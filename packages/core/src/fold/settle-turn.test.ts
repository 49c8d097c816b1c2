import { describe, expect, test } from 'vitest';
import { decodeRecord, encodeRecord } from '../codec/codec.ts';
import { itemId, partId } from '../ids.ts';
import type { LogRecord } from '../protocol/record.ts';
import { foldAll } from '../testing/fold-all.ts';
import { testSession } from '../testing/random-log.ts';
import { item, TestLog } from '../testing/write-log.ts';
import { foldBatch } from './fold.ts';
import { emptyState } from './fold-state.ts';
import { settleTurn } from './settle-turn.ts';
import { transcript } from './transcript.ts';

const finish = (log: TestLog) =>
  log
    .take()
    .fact({ type: 'item_finished', itemId: item })
    .fact({ type: 'turn_finished', stop: { reason: 'stop' } }, 1, 0);

test('a finished turn’s deltas become one snapshot at the offset of the last, of no attempt', () => {
  const log = new TestLog();
  const text = log.writer.text();
  text.append('The answer');
  text.commit();
  finish(log);
  const settled = settleTurn(log.records, 1, foldAll(log.records));
  expect(settled.map(({ offset }) => offset)).toEqual([1, 4, 5, 6]);
  const parts = [{ partId: text.partId, part: { kind: 'text', text: 'The answer' } }];
  const items = [{ itemId: item, parts }];
  expect(settled[1]).toMatchObject({
    attempt: 0,
    fact: { type: 'snapshot', covers: [2, 4], items },
  });
  expect(transcript(foldAll(settled))).toEqual(transcript(foldAll(log.records)));
});

describe('settling leaves', () => {
  test('deltas that nobody understands where they are', () => {
    const log = new TestLog();
    const raw = { type: 'hologram' };
    log.writer.whole({ kind: 'text', text: 'a' });
    log.take().delta({ type: 'unknown', raw });
    const settled = settleTurn(finish(log).records, 1, foldAll(log.records));
    expect(settled.map(({ delta, fact }) => (delta ?? fact)?.type)).toEqual([
      'item_started',
      'snapshot',
      'unknown',
      'item_finished',
      'turn_finished',
    ]);
  });

  test('a turn alone of which a part or an item is open', () => {
    const log = new TestLog();
    const text = log.writer.text();
    text.append('precious');
    expect(settleTurn(log.take().records, 1, foldAll(log.records))).toBe(log.records);
    text.commit();
    expect(settleTurn(log.take().records, 1, foldAll(log.records))).toBe(log.records);
  });

  test('a turn alone that is not finished, or whose state is older than its deltas', () => {
    const log = new TestLog();
    log.writer.whole({ kind: 'text', text: 'a' });
    log.take().fact({ type: 'item_finished', itemId: item });
    expect(settleTurn(log.records, 1, foldAll(log.records))).toBe(log.records);
    log.fact({ type: 'turn_finished', stop: { reason: 'stop' } }, 1, 0);
    expect(settleTurn(log.records, 1, foldAll(log.records.slice(0, 1)))).toBe(log.records);
    expect(settleTurn(log.records, 1, foldAll(log.records))).not.toBe(log.records);
  });

  test('nothing of what was taken back since it was settled before', () => {
    const log = new TestLog();
    const id = log.writer.whole({ kind: 'text', text: 'withdrawn' });
    log.writer.whole({ kind: 'text', text: 'kept' });
    const settled = settleTurn(finish(log).records, 1, foldAll(log.records));
    log.writer.retract(id, 'withdrawn');
    const added = log.take().records.at(-1) as LogRecord;
    const again = settleTurn([...settled, added], 1, foldAll(log.records));
    expect(JSON.stringify(again)).not.toContain('"withdrawn"');
    expect(again.flatMap(({ fact }) => (fact?.type === 'snapshot' ? [fact.covers] : []))).toEqual([
      [2, 6],
    ]);
    expect(transcript(foldAll(again))).toEqual(transcript(foldAll(log.records)));
  });

  test('what is outside of any turn alone', () => {
    const outside = itemId('outside');
    const part = { kind: 'text', text: 'hello' } as const;
    const log = new TestLog();
    finish(log).fact({ type: 'item_started', itemId: outside, kind: 'user' }, 0, 0);
    const whole = {
      type: 'commit_part',
      partId: partId(0, 0, 'a'),
      itemId: outside,
      part,
    } as const;
    log.records.push({
      ...(log.records[0] as LogRecord),
      offset: 5,
      turn: 0,
      attempt: 0,
      fact: undefined,
      delta: whole,
    } as LogRecord);
    log.fact({ type: 'item_finished', itemId: outside }, 0, 0);
    expect(settleTurn(log.records, 0, foldAll(log.records))).toBe(log.records);
  });

  test('a turn alone whose snapshot no reader could read', () => {
    const log = new TestLog();
    for (let part = 0; part < 3; part++) {
      log.writer.whole({ kind: 'text', text: 'x'.repeat(100_000) });
    }
    const state = foldAll(finish(log).records);
    expect(settleTurn(log.records, 1, state, { maxDocumentLength: 300_000 })).toBe(log.records);
    const settled = settleTurn(log.records, 1, state, { maxDocumentLength: 500_000 });
    expect(settled).toHaveLength(4);
    for (const record of settled) {
      expect(decodeRecord(encodeRecord(record), { maxDocumentLength: 500_000 })).toEqual(record);
    }
  });
});

describe('a snapshot', () => {
  const snapshot = (items: readonly object[]) =>
    ({ type: 'snapshot', covers: [2, 3], items }) as never;

  test('empties the items of its turn that it does not name', () => {
    const log = new TestLog();
    log.writer.whole({ kind: 'text', text: 'stale' });
    log.take().fact(snapshot([]));
    expect(transcript(foldAll(log.records))[0]?.parts).toEqual([]);
  });

  test('of an item that is not there is a gap', () => {
    const log = new TestLog().fact(snapshot([{ itemId: 'ghost', parts: [] }]));
    const batch = { after: 0, through: 2, records: log.records };
    expect(foldBatch(emptyState(testSession), batch)).toMatchObject({ outcome: 'gap' });
  });

  test('has the input of a tool call from its arguments, whatever it says', () => {
    const call = { kind: 'tool_call', toolCallId: 'c', name: 't', arguments: '{"a":1}' };
    const forged = { partId: '1.1.a', part: { ...call, input: { a: 2 } } };
    const log = new TestLog().fact(snapshot([{ itemId: item, parts: [forged] }]));
    expect(transcript(foldAll(log.records))[0]?.parts).toEqual([{ ...call, input: { a: 1 } }]);
  });
});
