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
import { essence } from './chaos/check-readers.ts';
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

/** A history of two writers and a reader, in which all is well. */
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
  const tried = { type: 'tried', append: name, session, drafts: drafts.map(encodeDraft) } as const;
  const through = ends[index] ?? 0;
  return [
    { process, ...tried },
    { process, type: 'stored', append: name, through },
  ];
});

const reader = { process: 'reader', session } as const;
const read: readonly HistoryEvent[] = [
  { ...reader, type: 'asked', from: 1, atLeast: 3 },
  { ...reader, type: 'heard', batch: between(1, 3) },
  { ...reader, type: 'caught_up' },
  { ...reader, type: 'heard', batch: between(3, 8) },
  { ...reader, type: 'ended' },
];

const good: History = { events: [...written, ...read], finals: new Map([[session, records]]) };

const withFinal = (final: readonly LogRecord[], events = good.events): History => ({
  events,
  finals: new Map([[session, final]]),
});

/** What a log would be after something happened to it, numbered as if nothing had. */
const renumbered = (some: readonly LogRecord[]): readonly LogRecord[] =>
  some.map((record, index) => ({ ...record, offset: index + 1 }));

const without = (index: number) => records.filter((_, at) => at !== index);
const withTwice = (index: number) =>
  records.flatMap((one, at) => (at === index ? [one, one] : one));
const swapped = (index: number) => {
  const [first, second] = records.slice(index, index + 2);
  if (first === undefined || second === undefined) throw new Error('There are not two');
  return [...records.slice(0, index), second, first, ...records.slice(index + 2)];
};

/** The faults that are found. */
function found(history: History): readonly string[] {
  const verdict = checkHistory(history);
  return faults.filter((fault) => verdict.count(fault) > 0);
}

const eventsWith = (change: (event: HistoryEvent) => HistoryEvent | readonly HistoryEvent[]) =>
  good.events.flatMap(change);

test('a history in which all is well is clean, and says so', () => {
  const verdict = checkHistory(good);
  expect(verdict.problems).toEqual([]);
  expect(verdict.isClean).toBe(true);
  expect(`${verdict}`).toBe('lost 0 doubled 0 reordered 0 gaps 0 invented 0');
});

describe('what writers were told', () => {
  test('an append that nobody heard of may be there or not', () => {
    const events = written.filter(({ type }) => type !== 'stored');
    expect(found(withFinal(records, events))).toEqual([]);
    expect(found(withFinal(records.slice(0, 7), events))).toEqual([]);
    expect(found(withFinal([], events))).toEqual([]);
  });

  test('one that was acknowledged and is not there is lost', () => {
    expect(found(withFinal(records.slice(0, 7), written))).toEqual(['lost']);
  });

  test('one that is there in part is lost, acknowledged or not', () => {
    const events = written.filter(({ type }) => type !== 'stored');
    expect(found(withFinal(records.slice(0, 6), events))).toEqual(['lost']);
  });

  test('one that was repeated may be there once, and not twice', () => {
    const repeated = written.flatMap((event) => [event, event]);
    expect(found(withFinal(records, repeated))).toEqual([]);
    expect(found(withFinal(renumbered([...records, ...records.slice(7)]), repeated))).toEqual([
      'doubled',
    ]);
  });

  test('one that was refused must not be there', () => {
    const events = written.map((event): HistoryEvent => {
      if (event.type !== 'stored' || event.append !== 'append 3') return event;
      return { process: event.process, type: 'refused', append: event.append };
    });
    expect(found(withFinal(records, events))).toEqual(['invented']);
    expect(found(withFinal(records.slice(0, 7), events))).toEqual([]);
  });

  test('one that is torn apart by another is out of order', () => {
    const events = written.filter(({ type }) => type !== 'stored');
    expect(found(withFinal(renumbered(swapped(1)), events))).toEqual(['reordered']);
  });

  test('one that is before what its writer had written earlier is out of order', () => {
    const [a, b, ...rest] = ends.map((end, index) => records.slice(ends[index - 1] ?? 0, end));
    const events = written.filter(({ type }) => type !== 'stored');
    const late = renumbered([...(rest[0] ?? []), ...(a ?? []), ...(b ?? []), ...(rest[1] ?? [])]);
    expect(found(withFinal(late, events))).toEqual(['reordered']);
  });

  test('a driver that writes after another drove must not be there', () => {
    const three = [appends[0], appends[1], appends[3]].map((drafts = []) => drafts);
    const final = renumbered(records.filter((_, at) => at < 4 || at > 6));
    const by = (...processes: readonly string[]) =>
      withFinal(
        final,
        three.map((drafts, index) => ({
          process: processes[index] ?? '',
          type: 'tried',
          append: `append ${index}`,
          session,
          drafts: drafts.map(encodeDraft),
          isDrivers: true,
        })),
      );
    expect(found(by('a', 'a', 'b'))).toEqual([]);
    expect(found(by('a', 'b', 'c'))).toEqual([]);
    expect(found(by('a', 'b', 'a'))).toEqual(['invented']);
  });

  test('one that is after where it was told to be is out of order', () => {
    const events = eventsWith((event) =>
      event.type === 'stored' ? { ...event, through: event.through - 1 } : event,
    );
    expect(found(withFinal(records, events))).toEqual(['reordered']);
  });

  test('a record that nobody wrote is invented, unless it is the store’s own remark', () => {
    const strange = { ...records[0], ...fact('strange'), offset: 9 } as LogRecord;
    expect(found(withFinal([...records, strange], written))).toEqual(['invented']);
    const own = { ...strange, producer: 'store' };
    expect(found(withFinal([...records, own], written))).toEqual([]);
  });

  test('two appends that say the same cannot be judged', () => {
    const events = eventsWith((event) =>
      event.type === 'tried' ? [event, { ...event, append: `${event.append} again` }] : event,
    );
    expect(() => checkHistory({ ...good, events })).toThrow('Cannot judge');
  });
});

describe('what is read in the end', () => {
  test('a number that is missing is a gap, one that is there twice doubled, one too early out of order', () => {
    expect(found(withFinal(without(3), []))).toContain('gaps');
    expect(found(withFinal(withTwice(3), []))).toContain('doubled');
    expect(found(withFinal(swapped(3), []))).toContain('reordered');
  });

  test('the same thing under two numbers is doubled', () => {
    expect(found(withFinal(renumbered(withTwice(3)), written))).toContain('doubled');
  });
});

describe('what readers were told', () => {
  const heard = (change: (batch: Batch) => Batch) =>
    eventsWith((event) =>
      event.type === 'heard' && event.batch.after === 3
        ? { ...event, batch: change(event.batch) }
        : event,
    );

  test('a batch that begins too late is a gap', () => {
    const events = heard(() => between(4, 8));
    expect(found({ ...good, events })).toEqual(['gaps']);
  });

  test('a batch that begins too early tells twice', () => {
    const events = heard(() => between(2, 8));
    expect(found({ ...good, events })).toEqual(['doubled']);
  });

  test('a batch that lacks a record is a gap', () => {
    const events = heard((batch) => ({ ...batch, records: batch.records.slice(0, -1) }));
    expect(found({ ...good, events })).toEqual(['gaps']);
  });

  test('a batch that has a record twice tells twice', () => {
    const events = heard((batch) => ({
      ...batch,
      records: batch.records.flatMap((one) => [one, one]),
    }));
    expect(found({ ...good, events })).toContain('doubled');
  });

  test('a batch in another order is out of order', () => {
    const events = heard((batch) => ({ ...batch, records: batch.records.toReversed() }));
    expect(found({ ...good, events })).toContain('reordered');
  });

  test('a record that was told and is not there is lost', () => {
    const final = records.slice(0, 7);
    expect(found(withFinal(final, [...written.slice(0, 6), ...read]))).toContain('lost');
  });

  test('a text that was told otherwise than it is, is lost', () => {
    const events = heard((batch) => ({
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
    expect(found({ ...good, events })).toContain('lost');
  });

  test('one that ended, or caught up, before what was known has a gap', () => {
    const short = read.filter((event) => !(event.type === 'heard' && event.batch.after === 3));
    expect(found({ ...good, events: [...written, ...short] })).toEqual(['gaps']);
    const late = read.map((event) => (event.type === 'asked' ? { ...event, atLeast: 4 } : event));
    expect(found({ ...good, events: [...written, ...late] })).toEqual(['gaps']);
  });

  test('one that was cut off has what it has', () => {
    for (const length of read.keys()) {
      const events = [...written, ...read.slice(0, length)];
      expect(found({ ...good, events })).toEqual([]);
    }
  });
});

describe('at random', () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 7 })).map((all) => all.sort());

  test('any way to cut and merge what a reader is told is clean', () => {
    fc.assert(
      fc.property(cuts, (points) => {
        const bounds = [0, ...points, 8];
        const batches = bounds.slice(1).map((end, index) => between(bounds[index] ?? 0, end));
        const events: readonly HistoryEvent[] = [
          { ...reader, type: 'asked', from: 0, atLeast: 0 },
          ...batches.map((batch) => ({ ...reader, type: 'heard', batch }) as const),
          { ...reader, type: 'ended' },
        ];
        expect(found({ ...good, events: [...written, ...events] })).toEqual([]);
      }),
    );
  });

  test('anything that happens to the log in the end is noticed', () => {
    const index = fc.integer({ min: 0, max: records.length - 2 });
    const harm = fc.constantFrom(without, withTwice, swapped);
    fc.assert(
      fc.property(index, harm, fc.boolean(), (at, harmed, isHidden) => {
        const final = isHidden ? renumbered(harmed(at)) : harmed(at);
        expect(found(withFinal(final, written))).not.toEqual([]);
      }),
    );
  });
});

test('what a stretch says does not depend on how appends were merged, and not on more', () => {
  expect(essence(merge(records))).toEqual(essence(records));
  expect(essence(records).map(({ offset }) => offset)).toEqual([1, 5, 6, 7, 8]);
  expect(essence(swapped(5))).not.toEqual(essence(records));
});
