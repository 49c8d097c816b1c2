import { type AgentEvent, type PartId, transcript } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldAll } from '../../../core/src/testing/fold-all.ts';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { rebuild } from '../../../core/src/testing/rebuild.ts';
import { isFull, runs } from '../../../core/src/testing/runs.ts';
import { LogBuilder, type ObservedRecord, observedRecords } from '../testing/log-builder.ts';
import {
  ChannelBuffer,
  type DroppedEvents,
  Fifo,
  joinAppends,
  maxJoinedLength,
} from './channel-buffer.ts';

type Entry = AgentEvent | DroppedEvents;

const numbers = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 300, size: 'max' });

/** Reads a given number of entries after each record, and the rest at the end. */
function readAll(
  told: readonly ObservedRecord[],
  maxEvents: number,
  pace: readonly number[],
): Entry[] {
  const buffer = new ChannelBuffer(maxEvents);
  const entries: Entry[] = [];
  const read = (count: number) => {
    for (let left = count; left > 0; left--) {
      const entry = buffer.take();
      if (entry === undefined) return;
      entries.push(entry);
    }
  };
  for (const [at, { record, events }] of told.entries()) {
    for (const event of events) {
      buffer.add(event, record.fact !== undefined);
      expect(buffer.size).toBeLessThanOrEqual(maxEvents);
    }
    read(pace[at % pace.length] ?? 0);
  }
  read(Infinity);
  return entries;
}

const eventsOf = (told: readonly ObservedRecord[]) => told.flatMap(({ events }) => events);
const isEvent = (entry: Entry): entry is AgentEvent => entry.type !== 'dropped';
const droppedOf = (entries: readonly Entry[]) =>
  entries.filter((entry): entry is DroppedEvents => entry.type === 'dropped');

/** The range of its part that an event appends. */
function stretchOf(event: AgentEvent): { id: PartId; from: number; to: number } | undefined {
  if (!('at' in event)) return undefined;
  const added = 'text' in event ? event.text : 'bytes' in event ? event.bytes : event.delta;
  return { id: event.partId, from: event.at, to: event.at + added.length };
}

function covers(read: readonly AgentEvent[], event: AgentEvent): boolean {
  const part = stretchOf(event);
  return read.some((entry) => {
    if (entry === event) return true;
    const whole = stretchOf(entry);
    return (
      part !== undefined && whole?.id === part.id && whole.from <= part.from && part.to <= whole.to
    );
  });
}

describe('buffered events', () => {
  test('are read in order while there is capacity', () => {
    fc.assert(
      fc.property(numbers, (seed) => {
        const told = observedRecords(randomLog(seed));
        expect(readAll(told, 10_000, [0])).toEqual(eventsOf(told));
      }),
      { numRuns: runs(100) },
    );
  });

  test('never exceed the limit, and each is read or counted as dropped', () => {
    const pace = fc.array(fc.nat(3), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 12 }), pace, (seed, maxEvents, reads) => {
        const told = observedRecords(randomLog(seed));
        const entries = readAll(told, maxEvents, reads);
        const read = entries.filter(isEvent);
        const facts = told.flatMap(({ record, events }) => (record.fact ? events : []));
        const content = told.flatMap(({ record, events }) => (record.fact ? [] : events));
        const count = (missing: readonly DroppedEvents[], of: 'facts' | 'content') =>
          missing.reduce((sum, dropped) => sum + dropped[of], 0);
        const dropped = droppedOf(entries);
        const lost = (events: readonly AgentEvent[]) =>
          events.filter((event) => !covers(read, event)).length;
        expect(count(dropped, 'facts')).toBe(lost(facts));
        expect(count(dropped, 'content')).toBe(lost(content));
        const offsets = read.map(({ offset }) => offset);
        expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
      }),
      { numRuns: runs(500) },
    );
  });

  test('still contain the whole text if none was dropped', () => {
    let joined = 0;
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 60 }), (seed, maxEvents) => {
        const records = randomLog(seed);
        const told = observedRecords(records);
        const entries = readAll(told, maxEvents, [0]);
        if (droppedOf(entries).length > 0) return;
        const read = entries.filter(isEvent);
        if (read.length < eventsOf(told).length) joined++;
        expect(rebuild(read)).toEqual(transcript(foldAll(records)));
      }),
      { numRuns: runs(500) },
    );
    if (isFull) expect(joined).toBeGreaterThan(0);
  });
});

/** Two parts that grow by many small pieces, one after the other. */
function wordy(pieces: number): LogBuilder {
  const story = new LogBuilder().at(1, 1);
  const writer = story.request();
  const thought = writer.reasoning();
  for (let at = 0; at < pieces; at++) thought.append(`${at} `);
  thought.commit();
  const text = writer.text();
  for (let at = 0; at < pieces; at++) text.append(`${at};`);
  text.commit();
  return story.take(writer).fact({ type: 'turn_finished', stop: { reason: 'stop' } });
}

describe('a reader that does not read', () => {
  test('gets all of a long answer from a small buffer, in joined pieces', () => {
    const story = wordy(1000);
    const entries = readAll(story.observed, 16, [0]);
    expect(droppedOf(entries)).toEqual([]);
    expect(rebuild(entries.filter(isEvent))).toEqual(transcript(foldAll(story.records)));
    expect(entries.length).toBeLessThanOrEqual(16);
  });

  test('loses the oldest appends first, then part events, and facts last', () => {
    const story = new LogBuilder().at(1, 1);
    const writer = story.request();
    const [one, two] = [writer.text(), writer.text()];
    for (const piece of ['a', 'b', 'c']) {
      one.append(piece);
      two.append(piece);
    }
    story.take(writer).fact({ type: 'aborted' });
    const typesAt = (maxEvents: number) =>
      readAll(story.observed, maxEvents, [0]).map((entry) =>
        entry.type === 'dropped' ? entry : entry.type,
      );
    const dropped = (content: number, facts = 0) => ({ type: 'dropped', content, facts });
    const begin = ['item_started', 'response_started', 'part_started', 'part_started'];
    const delta = 'assistant_text_delta';
    expect(typesAt(7)).toEqual([...begin, dropped(4), delta, delta, 'aborted']);
    expect(typesAt(5)).toEqual([...begin, dropped(6), 'aborted']);
    expect(typesAt(4)).toEqual([...begin.slice(0, 2), dropped(7), 'part_started', 'aborted']);
    expect(typesAt(1)).toEqual([dropped(8, 2), 'aborted']);
  });

  test('gets a correct count of dropped events, including joined ones', () => {
    const story = wordy(50);
    const entries = readAll(story.observed, 4, [0]);
    expect(droppedOf(entries)).toEqual([{ type: 'dropped', content: 103, facts: 0 }]);
  });
});

describe('two appends', () => {
  const story = wordy(3);
  const pieces = eventsOf(story.observed).filter(({ type }) => type === 'assistant_text_delta');
  const [first, second, third] = pieces;
  if (first === undefined || second === undefined || third === undefined) throw new Error('few');

  test('are joined, with the log offset of the second', () => {
    expect(joinAppends(first, second)).toEqual({ ...second, at: 0, text: '0;1;' });
  });

  test('are not joined across a gap', () => {
    expect(joinAppends(first, third)).toBeUndefined();
    expect(joinAppends(second, first)).toBeUndefined();
  });

  test('with the same id in two sessions are not joined', () => {
    const other = { ...second, session: 'another' } as unknown as AgentEvent;
    expect(joinAppends(first, other)).toBeUndefined();
  });

  test('are not joined beyond the maximum length', () => {
    const long = { ...first, text: 'x'.repeat(maxJoinedLength), at: 0 } as AgentEvent;
    const next = { ...second, at: maxJoinedLength } as AgentEvent;
    expect(joinAppends(long, next)).toBeUndefined();
  });
});

test('a queue returns its entries in order, however it is used', () => {
  const steps = fc.array(fc.oneof(fc.constant('shift' as const), fc.nat()), {
    maxLength: 200,
    size: 'max',
  });
  fc.assert(
    fc.property(steps, (all) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      for (const step of all) {
        if (step === 'shift') expect(fifo.shift()).toBe(model.shift());
        else {
          fifo.push(step);
          model.push(step);
        }
        expect([fifo.size, fifo.first]).toEqual([model.length, model[0]]);
      }
    }),
  );
});

test('a long queue releases the entries that were taken', () => {
  const fifo = new Fifo<number>();
  for (let at = 0; at < 5000; at++) fifo.push(at);
  for (let at = 0; at < 4000; at++) expect(fifo.shift()).toBe(at);
  fifo.push(5000);
  expect([fifo.first, fifo.size]).toEqual([4000, 1001]);
});
