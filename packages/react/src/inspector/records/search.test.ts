import { type Delta, type Fact, type LogRecord, recordVersion } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { searchRecords } from './search.ts';

const search = (records: readonly LogRecord[], input: string) =>
  searchRecords(records, input).upTo(records.length);

function log(...entries: readonly object[]): readonly LogRecord[] {
  return entries.map((one, index) => {
    const head = { v: recordVersion, offset: index + 1, time: index, turn: 1, attempt: 1 };
    return {
      ...head,
      producer: 'test',
      ...(one as { fact: Fact } | { delta: Delta }),
    } as LogRecord;
  });
}

const append = (partId: string, chunk: string, at = 0) => ({
  delta: { type: 'append_text', partId, at, chunk },
});
const begin = (partId: string, name: string) => ({
  delta: {
    type: 'begin_part',
    partId,
    itemId: 'i',
    kind: 'tool_call',
    toolCallId: `call ${partId}`,
    name,
  },
});
const ran = (toolCallId: string, name: string) => ({
  fact: { type: 'tool_execution_started', toolCallId, name, executionId: 'x', summary: 'looks' },
});

describe('search', () => {
  test('finds text in deltas and facts, ignoring case', () => {
    const records = log(
      append('1.1.a', 'In Oslo'),
      ran('c', 'oslo_weather'),
      append('1.1.b', 'Rome'),
    );
    expect(search(records, 'OSLO')).toEqual([0, 1]);
  });

  test('finds text that spans several records, at the record that completes it', () => {
    const records = log(
      append('1.1.a', 'the or'),
      append('1.1.b', 'xx'),
      append('1.1.a', 'der li'),
      append('1.1.a', 'st'),
    );
    expect(search(records, 'order list')).toEqual([3]);
    expect(search(records, 'the order')).toEqual([2]);
  });

  test('finds every text once, however it was split', () => {
    const word = fc.stringMatching(/^[a-c]{1,12}$/);
    fc.assert(
      fc.property(
        word,
        word,
        word,
        fc.array(fc.nat(4), { maxLength: 12 }),
        (before, found, after, cuts) => {
          const text = `${before}#${found}#${after}`;
          const pieces: string[] = [];
          let rest = text;
          for (const cut of cuts) {
            pieces.push(rest.slice(0, cut));
            rest = rest.slice(cut);
          }
          pieces.push(rest);
          const records = log(...pieces.map((piece) => append('1.1.a', piece)));
          const [place, ...others] = search(records, `#${found}#`);
          expect(others).toEqual([]);
          const upTo = (count: number) => pieces.slice(0, count).join('');
          expect(upTo((place ?? -1) + 1)).toContain(`#${found}#`);
          expect(upTo(place ?? -1)).not.toContain(`#${found}#`);
        },
      ),
    );
  });

  test('finds by type, by tool and by turn, and by all at once', () => {
    const records = log(
      begin('1.1.a', 'read'),
      append('1.1.a', '{"path":'),
      begin('1.1.b', 'bash'),
      append('1.1.b', '{"command":'),
      ran('call 1.1.a', 'read'),
    );
    expect(search(records, 'type:append')).toEqual([1, 3]);
    expect(search(records, 'tool:read')).toEqual([0, 1, 4]);
    expect(search(records, 'tool:read type:append_text')).toEqual([1]);
    expect(search(records, 'tool:read path')).toEqual([1]);
    expect(search(records, 'turn:2')).toEqual([]);
  });

  test('finds nothing for an empty query', () => {
    expect(search(log(append('1.1.a', 'x')), '  ')).toEqual([]);
  });
});
