import { describe, expect, test } from 'vitest';
import type { LogRecord } from '../protocol/record.ts';
import { TestLog } from '../testing/write-log.ts';
import { merge, mergeBatch } from './merge.ts';

/** The records of two texts that grow in turns, from the first append on. */
function interleaved(...chunks: readonly string[]): readonly LogRecord[] {
  const log = new TestLog();
  const texts = [log.writer.text(), log.writer.text()] as const;
  for (const [index, chunk] of chunks.entries()) (texts[index % 2] ?? texts[0]).append(chunk);
  return log.take().records.slice(3);
}

const shown = (records: readonly LogRecord[]) =>
  records.map(({ offset, delta }) => [offset, delta && 'chunk' in delta ? delta.chunk : '']);

test('appends of one part are put together across those of another, at the offset of the last', () => {
  expect(shown(merge(interleaved('a', 'x', 'b', 'y', 'c')))).toEqual([
    [7, 'xy'],
    [8, 'abc'],
  ]);
});

test('a merged append begins where its first did, and is otherwise its last', () => {
  const records = interleaved('a', 'x', 'b');
  const last = records.at(-1) as LogRecord;
  expect(merge(records).at(-1)).toEqual({ ...last, delta: { ...last.delta, at: 0, chunk: 'ab' } });
});

describe('appends stay apart', () => {
  test('when another producer wrote them', () => {
    const [first, , second] = interleaved('a', 'x', 'b') as [LogRecord, LogRecord, LogRecord];
    const records = [first, { ...second, producer: 'another' }];
    expect(merge(records)).toEqual(records);
  });

  test('for their own reasons only: those of other parts are put together all the same', () => {
    const [a, x, b, y] = interleaved('a', 'x', 'b', 'y') as [
      LogRecord,
      LogRecord,
      LogRecord,
      LogRecord,
    ];
    const merged = merge([a, x, { ...b, producer: 'another' }, y]);
    expect(shown(merged)).toEqual([
      [4, 'a'],
      [6, 'b'],
      [7, 'xy'],
    ]);
    expect(merge(merged)).toEqual(merged);
  });

  test('when together they were longer than a chunk may be', () => {
    const records = interleaved('abc', '', 'def', '', 'g');
    const batch = { after: 3, through: 6, records };
    expect(shown(mergeBatch(batch, 5).records)).toEqual([
      [4, 'abc'],
      [6, 'defg'],
    ]);
  });

  test('when one does not begin where the other ends', () => {
    const [first, , second] = interleaved('ab', 'x', 'cd') as [LogRecord, LogRecord, LogRecord];
    const again = { ...second, delta: { ...second.delta, at: 1, chunk: 'bcd' } } as LogRecord;
    expect(merge([first, again])).toEqual([first, again]);
  });
});

test('bytes are put together as bytes', () => {
  const log = new TestLog();
  const media = log.writer.media('image/png');
  media.append(Uint8Array.of(1, 2));
  media.append(Uint8Array.of(3));
  const [merged] = merge(log.take().records.slice(2));
  expect(merged?.delta).toMatchObject({ at: 0, chunk: Uint8Array.of(1, 2, 3) });
});
