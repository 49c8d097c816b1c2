import {
  decodeRecord,
  encodeRecord,
  itemId,
  type LogRecord,
  merge,
  partId,
  recordVersion,
} from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { LogError } from '../contract/log-error.ts';
import { decodeChunk, encodeChunks } from './chunk-codec.ts';

const session = 'odd \u2028 session';

/** Each chunk continues where the previous one ended. */
function roundTrip(records: readonly LogRecord[]): readonly LogRecord[] {
  let first = 1;
  return encodeChunks(records).flatMap(({ last, body }) => {
    const decoded = decodeChunk(body, { session, first, last });
    first = last + 1;
    return decoded;
  });
}

/**
 * Legal logs: several items, parts, attempts and producers, unknown deltas and facts, retractions.
 */
const legal = fc
  .tuple(fc.array(fc.nat(), { maxLength: 200 }), fc.integer({ min: 1, max: 40 }))
  // The records of a batch share one time. Otherwise there would be no runs.
  .map(([numbers, batch]) =>
    randomLog(numbers).map((record) => ({ ...record, time: Math.floor(record.offset / batch) })),
  );

const parts = ['1.1.p', '1.1.q', '1.2.p', '12.3."\\', '0.0.😀'].map((text) => {
  const [turn, attempt, name = ''] = text.split('.');
  return partId(Number(turn), Number(attempt), name);
});
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\n', '\\', '"', '\u0000', '\u2028', '\ud83d', '\ude00', '{', '[', ' the'),
);
const append = fc.record({
  partId: fc.constantFrom(...parts),
  // Usually the end of the part. The codec must also accept other positions.
  jump: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(9)),
  chunk: texts,
  hole: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(5)),
  time: fc.constantFrom(7, 7, 7, 8),
  producer: fc.constantFrom('driver 1', 'driver 1', 'request 1', '', '"'),
});

/** Only appends, in any order, with gaps. */
const appends = fc.array(append, { maxLength: 60 }).map((drawn) => {
  const ends = new Map<string, number>();
  let offset = 0;
  return drawn.map(({ partId: id, jump, chunk, hole, time, producer }): LogRecord => {
    offset += 1 + hole;
    const at = (ends.get(id) ?? 0) + jump;
    ends.set(id, at + chunk.length);
    const head = { v: recordVersion, offset, time, turn: 1, attempt: 1, producer } as const;
    return { ...head, delta: { type: 'append_text', partId: id, at, chunk } };
  });
});

const somewhere = fc.infiniteStream(fc.nat());
/** Removes some records, so that offsets have gaps as in a settled turn. */
const withHoles = (records: readonly LogRecord[], draws: fc.Stream<number>) =>
  records.filter(() => draws.next().value % 4 > 0);

describe('decoding returns what was encoded', () => {
  test('for any legal log, whole, merged and with gaps', () => {
    fc.assert(
      fc.property(legal, somewhere, (records, draws) => {
        for (const some of [records, merge(records), withHoles(records, draws)])
          expect(roundTrip(some)).toStrictEqual(some);
      }),
    );
  });

  test('for any appends, at any position and with any text', () => {
    fc.assert(
      fc.property(appends, (records) => {
        expect(roundTrip(records)).toStrictEqual(records);
      }),
    );
  });

  test('for the largest numbers', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const id = partId(most, most, 'a');
    const head = { v: recordVersion, time: most, turn: most, attempt: most, producer: '' } as const;
    const records = [0, most].map((at, index): LogRecord => {
      const delta = { type: 'append_text', partId: id, at, chunk: '' } as const;
      return { ...head, offset: most - 1 + index, delta };
    });
    expect(roundTrip(records)).toStrictEqual(records);
  });

  test('for a snapshot, for bytes, and for keys that JSON.parse misreads', () => {
    const head = { v: recordVersion, time: 1, turn: 1, attempt: 0, producer: 'store' } as const;
    const [id = partId(1, 1, 'p')] = parts;
    const item = itemId('i');
    const part = { kind: 'structured', value: { '\\': 1 } } as const;
    const items = [{ itemId: item, parts: [{ partId: id, part }] }];
    const records: readonly LogRecord[] = [
      { ...head, offset: 3, fact: { type: 'snapshot', covers: [1, 3], items } },
      { ...head, offset: 4, delta: { type: 'set_metadata', partId: id, metadata: { '\n': 1 } } },
      {
        ...head,
        offset: 5,
        delta: { type: 'append_bytes', partId: id, at: 0, chunk: Uint8Array.of(0, 255) },
      },
    ];
    expect(roundTrip(records)).toStrictEqual(records);
  });

  test('for several chunks of similar length', () => {
    const records = Array.from({ length: 50_000 }, (_, index): LogRecord => {
      const head = { v: recordVersion, time: 1, turn: 1, attempt: 1, producer: 'test' } as const;
      const delta = {
        type: 'append_text',
        partId: partId(1, 1, 'p'),
        at: index * 4,
        chunk: 'word',
      };
      return { ...head, offset: index + 1, delta } as LogRecord;
    });
    const lengths = encodeChunks(records).map(({ body }) => body.length);
    expect(lengths.length).toBeGreaterThan(4);
    expect(Math.max(...lengths)).toBeLessThan(2 ** 17);
    expect(roundTrip(records)).toStrictEqual(records);
  });
});

describe('invalid input', () => {
  const place = { session, first: 5, last: 9 };
  const run = [recordVersion, 5, 1000, 1, 1, 'driver 1'];
  const lineOf = (...entries: readonly unknown[]) => JSON.stringify([...run, ...entries]);
  const fact = encodeRecord({
    v: recordVersion,
    offset: 6,
    time: 1,
    turn: 1,
    attempt: 0,
    producer: 'test',
    fact: { type: 'turn_started' },
  });

  test.each([
    ['no JSON', 'hello'],
    ['cut off', lineOf(['1.1.p', 0], 'a').slice(0, -1)],
    ['an empty line', `${lineOf(['1.1.p', 0], 'a')}\n`],
    ['null', 'null'],
    ['a number', '17'],
    ['a text', '"append"'],
    ['an empty array', '[]'],
    ['a version that never was', JSON.stringify([0, ...run.slice(1)])],
    ['an offset that is no number', JSON.stringify([1, '5', 1, 1, 1, 'x', ['1.1.p', 0], 'a'])],
    ['a time with a fraction', JSON.stringify([1, 5, 1.5, 1, 1, 'x', ['1.1.p', 0], 'a'])],
    ['a turn below 0', JSON.stringify([1, 5, 1, -1, 1, 'x', ['1.1.p', 0], 'a'])],
    ['an attempt that is missing', JSON.stringify([1, 5, 1, 1])],
    ['a producer that is a number', JSON.stringify([1, 5, 1, 1, 1, 7, ['1.1.p', 0], 'a'])],
    ['links that are missing', JSON.stringify([2, ...run.slice(1), ['1.1.p', 0], 'a'])],
    ['links of nothing', JSON.stringify([2, ...run.slice(1), ['link']])],
    ['an append to nothing', lineOf('a')],
    ['a part that was not named', lineOf(['1.1.p', 0], 'a', 1, 'b')],
    ['a part of a number between two', lineOf(['1.1.p', 0], 'a', 0.5, 'b')],
    ['a part of a number below 0', lineOf(['1.1.p', 0], 'a', -1, 'b')],
    ['an id that is none', lineOf(['p', 0], 'a')],
    ['an id that is written otherwise', lineOf(['01.1.p', 0], 'a')],
    ['an id that is an array', lineOf([['1.1.p'], 0], 'a')],
    ['a place that is missing', lineOf(['1.1.p'], 'a')],
    ['a place below 0', lineOf(['1.1.p', -1], 'a')],
    ['a place too many', lineOf(['1.1.p', 0, 0], 'a')],
    ['null among appends', lineOf(['1.1.p', 0], 'a', null)],
    ['true among appends', lineOf(['1.1.p', 0], 'a', true)],
    ['an object among appends', lineOf(['1.1.p', 0], 'a', { b: 1 })],
    ['an offset before the chunk', JSON.stringify([1, 4, 1, 1, 1, 'x', ['1.1.p', 0], 'a'])],
    ['an offset after the chunk', JSON.stringify([1, 9, 1, 1, 1, 'x', ['1.1.p', 0], 'a', 'b'])],
    ['an offset twice', `${fact}\n${fact}`],
    ['an offset that goes back', `${fact}\n${lineOf(['1.1.p', 0], 'a')}`],
    ['a record that is none', '{"v":1}'],
    ['a record of no version', fact.replace('"v":1', '"v":0')],
  ])('is reported as corrupt with its offset: %s', (_what, body) => {
    expect(thrownBy(() => decodeChunk(body, place))).toMatchObject({
      code: 'corrupt',
      place: { session, offset: expect.any(Number) },
    });
  });

  test.each([
    ['appends', JSON.stringify([3, ...run.slice(1)])],
    ['a record', fact.replace('"v":1', '"v":2')],
  ])('of a later version is reported as too new: %s', (_what, body) => {
    expect(thrownBy(() => decodeChunk(body, place))).toMatchObject({
      code: 'too_new',
      place: { session, offset: 5 },
    });
  });

  test('is reported with the offset of the first unreadable record', () => {
    const body = `${lineOf(['1.1.p', 0], 'a', 'b')}\n${fact.replace('"offset":6', '"offset":7')}\nno`;
    expect(thrownBy(() => decodeChunk(body, place))).toMatchObject({ place: { offset: 8 } });
  });

  test('with random changes is refused with a Millrace error or decodes to valid records', () => {
    const damage = fc.record({
      at: fc.nat(),
      length: fc.nat(4),
      text: fc.string({ maxLength: 4 }),
    });
    fc.assert(
      fc.property(legal, fc.array(damage, { minLength: 1, maxLength: 3 }), (records, damages) => {
        const [chunk] = encodeChunks(records);
        if (chunk === undefined) return;
        const body = damages.reduce((text, { at, length, text: put }) => {
          const start = at % (text.length + 1);
          return text.slice(0, start) + put + text.slice(start + length);
        }, chunk.body);
        const whole = { session, first: 1, last: chunk.last };
        const outcome = attempt(() => decodeChunk(body, whole));
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(LogError);
        else expectLegal(outcome, whole);
      }),
    );
  });

  function expectLegal(records: readonly LogRecord[], { last }: { readonly last: number }): void {
    let before = 0;
    for (const record of records) {
      expect(record.offset).toBeGreaterThan(before);
      expect(decodeRecord(encodeRecord(record))).toStrictEqual(record);
      before = record.offset;
    }
    expect(before).toBeLessThanOrEqual(last);
  }
});

function attempt<T>(run: () => T): T | Error {
  try {
    return run();
  } catch (error) {
    return error as Error;
  }
}

function thrownBy(run: () => unknown): unknown {
  const outcome = attempt(run);
  expect(outcome).toBeInstanceOf(LogError);
  return outcome;
}
