import {
  type Batch,
  type DraftRecord,
  encodeDraft,
  type LogRecord,
  merge,
  partId,
  recordVersion,
} from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkHistory } from './chaos/check-history.ts';
import { normalize } from './chaos/check-readers.ts';
import { faults } from './chaos/faults.ts';
import type { History, HistoryEvent } from './chaos/history.ts';

const session = 's';

const fact = (to: string): DraftRecord => ({
  turn: 1,
  attempt: 1,
  fact: { type: 'handed_off', to },
});

const append = (part: string, at: number, chunk: string): DraftRecord => ({
  turn: 1,
  attempt: 1,
  delta: { type: 'append_text', partId: partId(1, 1, part), at, chunk },
});

/** A correct history of two writers and a reader. */
const appends: readonly (readonly DraftRecord[])[] = [
  [fact('a'), append('p', 0, 'one ')],
  [append('q', 0, 'x'), append('p', 4, 'two ')],
  [append('p', 8, 'three'), append('q', 1, 'y'), fact('b')],
  [append('q', 2, 'z')],
];

const records: readonly LogRecord[] = appends.flat().map((draft, index) => ({
  v: recordVersion,
  offset: index + 1,
  time: 0,
  producer: 'driver 1',
  ...draft,
}));

const between = (after: number, through: number): Batch => ({
  after,
  through,
  records: merge(records.slice(after, through)),
});

const ends = appends.map((_, index) => appends.slice(0, index + 1).flat().length);

const written: readonly HistoryEvent[] = appends.flatMap((drafts, index): HistoryEvent[] => {
  const process = index % 2 === 0 ? 'driver' : 'producer';
  const name = `append ${index}`;
  const tried = {
    type: 'attempted',
    append: name,
    session,
    drafts: drafts.map(encodeDraft),
  } as const;
  const through = ends[index] ?? 0;
  return [
    { process, ...tried },
    { process, type: 'stored', append: name, through },
  ];
});

const reader = { process: 'reader', session } as const;
const read: readonly HistoryEvent[] = [
  { ...reader, type: 'subscribed', from: 1, knownThrough: 3 },
  { ...reader, type: 'received', batch: between(1, 3) },
  { ...reader, type: 'caught_up' },
  { ...reader, type: 'received', batch: between(3, 8) },
  { ...reader, type: 'ended' },
];

const correct: History = { events: [...written, ...read], finals: new Map([[session, records]]) };

const withFinal = (final: readonly LogRecord[], events = correct.events): History => ({
  events,
  finals: new Map([[session, final]]),
});

/** Numbers the records of a damaged log without gaps. So the offsets do not reveal the damage. */
const renumbered = (some: readonly LogRecord[]): readonly LogRecord[] =>
  some.map((record, index) => ({ ...record, offset: index + 1 }));

const without = (index: number) => records.filter((_, at) => at !== index);
const withTwice = (index: number) =>
  records.flatMap((one, at) => (at === index ? [one, one] : one));
const swapped = (index: number) => {
  const [first, second] = records.slice(index, index + 2);
  if (first === undefined || second === undefined)
    throw new Error('There are no two records to swap');
  return [...records.slice(0, index), second, first, ...records.slice(index + 2)];
};

/** Returns the kinds of faults that the check finds. */
function found(history: History): readonly string[] {
  const faultReport = checkHistory(history);
  return faults.filter((fault) => faultReport.count(fault) > 0);
}

const eventsWith = (change: (event: HistoryEvent) => HistoryEvent | readonly HistoryEvent[]) =>
  correct.events.flatMap(change);

test('a correct history has no faults', () => {
  const faultReport = checkHistory(correct);
  expect(faultReport.problems).toEqual([]);
  expect(faultReport.isClean).toBe(true);
  expect(`${faultReport}`).toBe('lost 0 doubled 0 reordered 0 gaps 0 invented 0');
});

describe('writers', () => {
  test('an append without an answer may be stored or not', () => {
    const events = written.filter(({ type }) => type !== 'stored');
    expect(found(withFinal(records, events))).toEqual([]);
    expect(found(withFinal(records.slice(0, 7), events))).toEqual([]);
    expect(found(withFinal([], events))).toEqual([]);
  });

  test('an acknowledged append that is not stored is lost', () => {
    expect(found(withFinal(records.slice(0, 7), written))).toEqual(['lost']);
  });

  test('an append that is stored in part is lost, acknowledged or not', () => {
    const events = written.filter(({ type }) => type !== 'stored');
    expect(found(withFinal(records.slice(0, 6), events))).toEqual(['lost']);
  });

  test('a repeated append may be stored once, but not twice', () => {
    const repeated = written.flatMap((event) => [event, event]);
    expect(found(withFinal(records, repeated))).toEqual([]);
    expect(found(withFinal(renumbered([...records, ...records.slice(7)]), repeated))).toEqual([
      'doubled',
    ]);
  });

  test('a refused append must not be stored', () => {
    const events = written.map((event): HistoryEvent => {
      if (event.type !== 'stored' || event.append !== 'append 3') return event;
      return { process: event.process, type: 'refused', append: event.append };
    });
    expect(found(withFinal(records, events))).toEqual(['invented']);
    expect(found(withFinal(records.slice(0, 7), events))).toEqual([]);
  });

  test('an append with a record of another in between is reordered', () => {
    const events = written.filter(({ type }) => type !== 'stored');
    expect(found(withFinal(renumbered(swapped(1)), events))).toEqual(['reordered']);
  });

  test('an append stored before an earlier append of the same writer is reordered', () => {
    const [a, b, ...rest] = ends.map((end, index) => records.slice(ends[index - 1] ?? 0, end));
    const events = written.filter(({ type }) => type !== 'stored');
    const late = renumbered([...(rest[0] ?? []), ...(a ?? []), ...(b ?? []), ...(rest[1] ?? [])]);
    expect(found(withFinal(late, events))).toEqual(['reordered']);
  });

  test('a driver must not write after another driver has taken over', () => {
    const three = [appends[0], appends[1], appends[3]].map((drafts = []) => drafts);
    const final = renumbered(records.filter((_, at) => at < 4 || at > 6));
    const by = (...processes: readonly string[]) =>
      withFinal(
        final,
        three.map((drafts, index) => ({
          process: processes[index] ?? '',
          type: 'attempted',
          append: `append ${index}`,
          session,
          drafts: drafts.map(encodeDraft),
          isFromDriver: true,
        })),
      );
    expect(found(by('a', 'a', 'b'))).toEqual([]);
    expect(found(by('a', 'b', 'c'))).toEqual([]);
    expect(found(by('a', 'b', 'a'))).toEqual(['invented']);
  });

  test('an append stored after its acknowledged offset is reordered', () => {
    const events = eventsWith((event) =>
      event.type === 'stored' ? { ...event, through: event.through - 1 } : event,
    );
    expect(found(withFinal(records, events))).toEqual(['reordered']);
  });

  test('a record that no process wrote is invented, unless the store wrote it', () => {
    const strange = { ...records[0], ...fact('strange'), offset: 9 } as LogRecord;
    expect(found(withFinal([...records, strange], written))).toEqual(['invented']);
    const own = { ...strange, producer: 'store' };
    expect(found(withFinal([...records, own], written))).toEqual([]);
  });

  test('a history with two equal appends cannot be checked', () => {
    const events = eventsWith((event) =>
      event.type === 'attempted' ? [event, { ...event, append: `${event.append} again` }] : event,
    );
    expect(() => checkHistory({ ...correct, events })).toThrow('Cannot check this history');
  });
});

describe('the final log', () => {
  test('a missing offset is a gap, a repeated one is doubled, a swapped one is reordered', () => {
    expect(found(withFinal(without(3), []))).toContain('gaps');
    expect(found(withFinal(withTwice(3), []))).toContain('doubled');
    expect(found(withFinal(swapped(3), []))).toContain('reordered');
  });

  test('the same record at two offsets is doubled', () => {
    expect(found(withFinal(renumbered(withTwice(3)), written))).toContain('doubled');
  });
});

describe('readers', () => {
  const withBatch = (change: (batch: Batch) => Batch) =>
    eventsWith((event) =>
      event.type === 'received' && event.batch.after === 3
        ? { ...event, batch: change(event.batch) }
        : event,
    );

  test('a batch that starts too late is a gap', () => {
    const events = withBatch(() => between(4, 8));
    expect(found({ ...correct, events })).toEqual(['gaps']);
  });

  test('a batch that starts too early is doubled', () => {
    const events = withBatch(() => between(2, 8));
    expect(found({ ...correct, events })).toEqual(['doubled']);
  });

  test('a batch with a missing record is a gap', () => {
    const events = withBatch((batch) => ({ ...batch, records: batch.records.slice(0, -1) }));
    expect(found({ ...correct, events })).toEqual(['gaps']);
  });

  test('a batch with a repeated record is doubled', () => {
    const events = withBatch((batch) => ({
      ...batch,
      records: batch.records.flatMap((one) => [one, one]),
    }));
    expect(found({ ...correct, events })).toContain('doubled');
  });

  test('a batch in another order is reordered', () => {
    const events = withBatch((batch) => ({ ...batch, records: batch.records.toReversed() }));
    expect(found({ ...correct, events })).toContain('reordered');
  });

  test('a received record that is not stored is lost', () => {
    const final = records.slice(0, 7);
    expect(found(withFinal(final, [...written.slice(0, 6), ...read]))).toContain('lost');
  });

  test('a received text that differs from the stored text is lost', () => {
    const events = withBatch((batch) => ({
      ...batch,
      records: batch.records.map(
        (record): LogRecord =>
          record.delta?.type === 'append_text'
            ? {
                ...record,
                fact: undefined,
                delta: { ...record.delta, chunk: record.delta.chunk.toUpperCase() },
              }
            : record,
      ),
    }));
    expect(found({ ...correct, events })).toContain('lost');
  });

  test('a reader that ends or catches up before the known offset has a gap', () => {
    const short = read.filter((event) => !(event.type === 'received' && event.batch.after === 3));
    expect(found({ ...correct, events: [...written, ...short] })).toEqual(['gaps']);
    const late = read.map((event) =>
      event.type === 'subscribed' ? { ...event, knownThrough: 4 } : event,
    );
    expect(found({ ...correct, events: [...written, ...late] })).toEqual(['gaps']);
  });

  test('a reader that is killed at any point has no fault', () => {
    for (const length of read.keys()) {
      const events = [...written, ...read.slice(0, length)];
      expect(found({ ...correct, events })).toEqual([]);
    }
  });
});

describe('random histories', () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 7 })).map((all) => all.sort());

  test('any way to split and merge the batches of a reader has no faults', () => {
    fc.assert(
      fc.property(cuts, (points) => {
        const bounds = [0, ...points, 8];
        const batches = bounds.slice(1).map((end, index) => between(bounds[index] ?? 0, end));
        const events: readonly HistoryEvent[] = [
          { ...reader, type: 'subscribed', from: 0, knownThrough: 0 },
          ...batches.map((batch) => ({ ...reader, type: 'received', batch }) as const),
          { ...reader, type: 'ended' },
        ];
        expect(found({ ...correct, events: [...written, ...events] })).toEqual([]);
      }),
    );
  });

  test('any damage to the final log is found', () => {
    const index = fc.integer({ min: 0, max: records.length - 2 });
    const damage = fc.constantFrom(without, withTwice, swapped);
    fc.assert(
      fc.property(index, damage, fc.boolean(), (at, damaged, isHidden) => {
        const final = isHidden ? renumbered(damaged(at)) : damaged(at);
        expect(found(withFinal(final, written))).not.toEqual([]);
      }),
    );
  });
});

test('normalized records do not depend on how appends were merged, but on their order', () => {
  expect(normalize(merge(records))).toEqual(normalize(records));
  expect(normalize(records).map(({ offset }) => offset)).toEqual([1, 5, 6, 7, 8]);
  expect(normalize(swapped(5))).not.toEqual(normalize(records));
});
