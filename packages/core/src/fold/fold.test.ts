import { describe, expect, test } from 'vitest';
import { itemId, partId, runId, toolCallId } from '../ids.ts';
import type { Delta } from '../protocol/delta.ts';
import type { LogRecord } from '../protocol/record.ts';
import { noUsage } from '../protocol/usage.ts';
import { foldAll } from '../testing/fold-all.ts';
import { testSession } from '../testing/random-log.ts';
import { isFull } from '../testing/runs.ts';
import { item, TestLog } from '../testing/write-log.ts';
import { Folder, fold, foldBatch } from './fold.ts';
import type { FoldState } from './fold-state.ts';
import { toArray } from './sequence.ts';
import { liveTranscript, transcript } from './transcript.ts';
import { validate } from './validate.ts';

function textLog(...chunks: readonly string[]): readonly LogRecord[] {
  const log = new TestLog();
  const text = log.writer.text();
  for (const chunk of chunks) text.append(chunk);
  return log.take().records;
}

describe('snapshots', () => {
  const deltaCount = isFull ? 20_000 : 1_000;
  test(`taken at each of the ${deltaCount} deltas of a part are each right afterwards`, () => {
    const chunks = Array.from({ length: deltaCount }, (_, index) => `${index} `);
    const folder = new Folder(testSession);
    const snapshots = textLog(...chunks).map((record) => {
      folder.add(record);
      return folder.state;
    });
    // The first two records start the item and the part. Newest first, and dropped once seen: reading
    // a text makes V8 write it out in full, which for all of them at once would be a gigabyte.
    let expected = chunks.join('');
    for (const chunk of chunks.toReversed()) {
      const state = snapshots.pop();
      if (state?.open[0]?.text !== expected) expect(state?.open[0]?.text).toBe(expected);
      expected = expected.slice(0, expected.length - chunk.length);
    }
    expect(snapshots).toHaveLength(2);
  });

  test('share what did not change', () => {
    const log = new TestLog();
    const [first, second] = [log.writer.text(), log.writer.text()];
    first.append('a');
    const before = foldAll(log.take().records);
    second.append('b');
    const next = fold(before, log.take().records.at(-1) as LogRecord).state;
    expect(next.open[0]).toBe(before.open[0]);
    expect(next.items).toBe(before.items);
    expect(next).toEqual(foldAll(log.records));
  });

  test('of media keep their bytes when more come', () => {
    const log = new TestLog();
    const media = log.writer.media('image/png');
    media.append(Uint8Array.of(1, 2));
    const before = foldAll(log.take().records);
    media.append(Uint8Array.of(3));
    const after = foldAll(log.take().records);
    const bytesIn = (state: FoldState) => liveTranscript(state)[0]?.parts[0];
    expect(bytesIn(before)).toMatchObject({ source: { bytes: Uint8Array.of(1, 2) } });
    expect(bytesIn(after)).toMatchObject({ source: { bytes: Uint8Array.of(1, 2, 3) } });
  });
});

describe('outcomes', () => {
  const records = textLog('ab', 'cd', 'ef', 'gh');
  const state = foldAll(records.slice(0, 4));

  test('a batch that starts beyond the state is a gap', () => {
    const batch = { after: 5, through: 6, records: records.slice(5) };
    const folded = foldBatch(state, batch);
    expect(folded).toEqual({ outcome: 'gap', state, gap: { offset: 5, code: 'gap' } });
    expect(folded.state).toBe(state);
  });

  test('a batch that the state has is seen', () => {
    expect(foldBatch(state, { after: 1, through: 4, records })).toEqual({ outcome: 'seen', state });
  });

  test('an empty batch moves the state to its end', () => {
    const folded = foldBatch(state, { after: 4, through: 9, records: [] });
    expect(folded).toEqual({ outcome: 'applied', state: { ...state, through: 9 } });
  });

  test('a batch moves the state to its own end, not to its last record', () => {
    const folded = foldBatch(state, { after: 4, through: 9, records: records.slice(4, 5) });
    expect(folded.state.through).toBe(9);
  });

  test('a batch that ends where no offset can be never advances the state', () => {
    for (const through of [Number.POSITIVE_INFINITY, 2 ** 60, 4.5]) {
      expect(foldBatch(state, { after: 4, through, records: [] })).toMatchObject({
        outcome: 'gap',
      });
    }
  });

  test('facts out of order are a gap, though each would fit', () => {
    const log = new TestLog();
    for (const key of ['a', 'b']) log.fact({ type: 'command_consumed', key });
    const [, second, third] = log.records as [LogRecord, LogRecord, LogRecord];
    const start = foldAll(log.records.slice(0, 1));
    const batch = { after: 1, through: 3, records: [third, second] };
    expect(foldBatch(start, batch)).toMatchObject({ gap: { offset: 2, code: 'out_of_order' } });
  });

  test('a listener that throws loses nothing: the folder has the batch', () => {
    const folder = new Folder(testSession);
    const batch = { after: 0, through: 6, records };
    const complain = () => {
      throw new Error('listener');
    };
    expect(() => folder.addBatch(batch, complain)).toThrow('listener');
    expect(folder.state.through).toBe(6);
  });

  test('records out of order are a gap, and nothing of the batch is applied', () => {
    const [fourth, fifth] = records.slice(3);
    const batch = { after: 3, through: 5, records: [fifth, fourth] as LogRecord[] };
    const folded = foldBatch(foldAll(records.slice(0, 3)), batch);
    expect(folded).toMatchObject({ outcome: 'gap', state: { through: 3 } });
  });

  test('a record beyond the end of its batch is a gap', () => {
    const folded = foldBatch(state, {
      after: 4,
      through: 5,
      records: records.slice(4, 6).reverse(),
    });
    expect(folded).toMatchObject({ outcome: 'gap', gap: { code: 'out_of_order' } });
  });

  test('a record that does not fit is a gap with the code of the table', () => {
    const last = records.at(-1) as LogRecord & { readonly delta: object };
    const far = { ...last, offset: 5, delta: { ...last.delta, at: 99 } } as LogRecord;
    expect(fold(state, far)).toMatchObject({ outcome: 'gap', gap: { offset: 5, code: 'gap' } });
    const lost = { ...last, offset: 5, delta: { ...last.delta, partId: partId(1, 1, 'lost') } };
    expect(fold(state, lost as LogRecord)).toMatchObject({ gap: { code: 'unknown_part' } });
  });

  test('an offset that is no number never advances the state', () => {
    for (const offset of [Number.NaN, Number.POSITIVE_INFINITY, -1, 2 ** 60]) {
      const folded = fold(state, { ...(records[5] as LogRecord), offset });
      expect(folded.outcome).not.toBe('applied');
      expect(folded.state).toBe(state);
    }
  });

  test('nobody hears of a batch of which a record does not fit', () => {
    const heard: LogRecord[] = [];
    const bad = { ...(records[5] as LogRecord), offset: 9 };
    const batch = { after: 4, through: 6, records: [records[4] as LogRecord, bad] };
    foldBatch(state, batch, (_before, record) => heard.push(record));
    expect(heard).toEqual([]);
  });
});

describe('facts', () => {
  test('say which run goes on', () => {
    const run = runId('r1');
    const log = new TestLog().fact({ type: 'run_started', runId: run });
    expect(foldAll(log.records).run).toBe(run);
    log.fact({ type: 'run_finished', runId: run, stop: { reason: 'stop' } });
    expect(foldAll(log.records).run).toBeUndefined();
  });

  test('say when an item was started and finished, and in which run', () => {
    const run = runId('r1');
    const other = itemId('i2');
    const log = new TestLog()
      .fact({ type: 'run_started', runId: run })
      .fact({ type: 'item_started', itemId: other, kind: 'assistant' })
      .fact({ type: 'item_finished', itemId: other });
    const [first, second] = toArray(foldAll(log.records).items);
    expect(first).toMatchObject({ run: undefined, startedAt: 10, finishedAt: undefined });
    expect(second).toMatchObject({ run, startedAt: 30, finishedAt: 40 });
  });

  test('say which calls wait for an approval, until it is answered or the turn is over', () => {
    const asks = (id: string) =>
      ({ type: 'approval_asked', toolCallId: toolCallId(id), name: 'bash', rule: 'r' }) as const;
    const allow = { type: 'approval_answered', name: 'bash', decision: 'allow' } as const;
    const log = new TestLog().fact(asks('a')).fact(asks('b')).fact(asks('c')).fact(asks('b'));
    const waiting = () => foldAll(log.records).asked.map(({ toolCallId: id }) => id);
    expect(waiting()).toEqual(['a', 'c', 'b']);
    log.fact({ ...allow, toolCallId: toolCallId('c') });
    expect(waiting()).toEqual(['a', 'b']);
    const rejected = { code: 'aborted', message: 'no' } as const;
    log.fact({
      type: 'tool_call_rejected',
      toolCallId: toolCallId('a'),
      name: 'bash',
      ...rejected,
    });
    expect(foldAll(log.records).asked).toEqual([
      { turn: 1, attempt: 1, toolCallId: 'b', name: 'bash', reason: undefined, rule: 'r' },
    ]);
    log.fact({ type: 'attempt_superseded', reason: 'cut' }, 1, 1);
    expect(waiting()).toEqual([]);
    log.fact(asks('d'), 1, 2).fact({ type: 'turn_finished', stop: { reason: 'stop' } }, 1, 0);
    expect(waiting()).toEqual([]);
  });

  test('redact an item: its parts are gone, also the open one', () => {
    const log = new TestLog();
    log.writer.whole({ kind: 'text', text: 'secret' });
    log.writer.text().append('more secret');
    log.take().fact({ type: 'item_redacted', itemId: item });
    const state = foldAll(log.records);
    expect(transcript(state)).toEqual([{ id: item, kind: 'assistant', parts: [], redacted: true }]);
    expect(state.open).toEqual([]);
  });

  test('that must be understood and are not are noted once', () => {
    const raw = { type: 'treaty', must_understand: true };
    const log = new TestLog()
      .fact({ type: 'unknown', raw })
      .fact({ type: 'unknown', raw })
      .fact({ type: 'unknown', raw: { type: 'gossip' } });
    expect(foldAll(log.records).notUnderstood).toEqual(['treaty']);
  });

  test('finish an item, by the attempt that says so', () => {
    const log = new TestLog().fact({ type: 'item_finished', itemId: item });
    const [finished] = toArray(foldAll(log.records).items);
    expect(finished?.finished).toEqual({ turn: 1, attempt: 1 });
  });

  test('end the run that they name, and no other', () => {
    const [first, second] = [runId('r1'), runId('r2')];
    const log = new TestLog()
      .fact({ type: 'run_started', runId: first })
      .fact({ type: 'run_started', runId: second })
      .fact({ type: 'run_finished', runId: first, stop: { reason: 'stop' } });
    expect(foldAll(log.records).run).toBe(second);
  });

  test('that supersede an attempt take its end of a shared item back', () => {
    const shared = itemId('shared');
    const stop = { reason: 'length' } as const;
    const log = new TestLog()
      .fact({ type: 'item_started', itemId: shared, kind: 'assistant' }, 1, 0)
      .fact({ type: 'response_finished', itemId: shared, stop, usage: noUsage })
      .fact({ type: 'attempt_superseded', reason: 'test' });
    expect(transcript(foldAll(log.records))).toEqual([
      { id: shared, kind: 'assistant', parts: [] },
    ]);
    const begin = { type: 'begin_part', partId: partId(1, 2, 'a'), itemId: shared, kind: 'text' };
    expect(
      validate(foldAll(log.records), { turn: 1, attempt: 2, delta: begin as Delta }),
    ).toBeDefined();
  });

  test('redact a finished item too', () => {
    const log = new TestLog();
    log.writer.whole({ kind: 'text', text: 'secret' });
    log.take().fact({ type: 'item_finished', itemId: item });
    log.fact({ type: 'item_redacted', itemId: item });
    expect(transcript(foldAll(log.records))).toEqual([
      { id: item, kind: 'assistant', parts: [], redacted: true },
    ]);
  });
});

describe('transcripts', () => {
  test('have committed parts only; live ones have what is open as partial', () => {
    const log = new TestLog();
    log.writer.whole({ kind: 'text', text: 'said' });
    log.writer.text().append('saying');
    const state = foldAll(log.take().records);
    expect(transcript(state)[0]?.parts).toEqual([{ kind: 'text', text: 'said' }]);
    expect(liveTranscript(state)[0]?.parts).toEqual([
      { kind: 'text', text: 'said' },
      { kind: 'text', text: 'saying', partial: true },
    ]);
  });

  test('give the same item where nothing changed, so that a screen need not draw it again', () => {
    const log = new TestLog();
    log.writer.whole({ kind: 'text', text: 'said' });
    log.take().fact({ type: 'item_finished', itemId: item });
    const before = foldAll(log.records);
    const after = fold(before, {
      ...(log.records[0] as LogRecord),
      offset: log.records.length + 1,
    } as LogRecord).state;
    expect(liveTranscript(after)[0]).toBe(transcript(before)[0]);
  });
});

describe('tool calls', () => {
  const inputOf = (argumentsText: string) => {
    const log = new TestLog();
    const call = log.writer.toolCall('c1' as never, 'read');
    call.append(argumentsText);
    call.commit();
    return transcript(foldAll(log.take().records))[0]?.parts[0];
  };

  test('have the value of their arguments, and {} where there are none', () => {
    expect(inputOf('{"a":[1]}')).toMatchObject({ arguments: '{"a":[1]}', input: { a: [1] } });
    expect(inputOf('')).toMatchObject({ arguments: '', input: {} });
  });

  test('have no input where the text is no JSON, too deep, or out of range', () => {
    for (const text of ['{"a":', '[1e999]', '['.repeat(10_000) + ']'.repeat(10_000)]) {
      expect(inputOf(text)).not.toHaveProperty('input');
    }
  });

  test('have __proto__ as data', () => {
    const part = inputOf('{"__proto__":{"admin":true}}');
    expect(part).toHaveProperty('arguments', '{"__proto__":{"admin":true}}');
    const input = part?.kind === 'tool_call' ? part.input : undefined;
    expect(Object.keys(input ?? {})).toEqual(['__proto__']);
    expect((input as { admin?: boolean }).admin).toBeUndefined();
  });
});
