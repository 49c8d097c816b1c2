import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Fact } from '../protocol/fact.ts';
import { type LogRecord, recordVersion } from '../protocol/record.ts';
import { noUsage } from '../protocol/usage.ts';
import { randomLog } from '../testing/random-log.ts';
import { runs } from '../testing/runs.ts';
import { emptyOutline, foldOutline } from './outline.ts';

const usage = { ...noUsage, input: 10, output: 2 };
const stop = { reason: 'stop' };

/** Returns the records of runs with one turn each. A turn has this many deltas. */
function session(count: number, deltas: number): readonly LogRecord[] {
  const records: LogRecord[] = [];
  const add = (turn: number, attempt: number, body: object) => {
    const offset = records.length + 1;
    const head = { v: recordVersion, offset, time: offset * 10, producer: 'test' };
    records.push({ ...head, turn, attempt, ...body } as LogRecord);
  };
  const fact = (turn: number, attempt: number, one: object) =>
    add(turn, attempt, { fact: one as Fact });
  for (let turn = 1; turn <= count; turn++) {
    fact(0, 0, { type: 'run_started', runId: `r${turn}` });
    fact(turn, 0, { type: 'turn_started' });
    for (let at = 0; at < deltas; at++)
      add(turn, 1, { delta: { type: 'append_text', partId: 'p', chunk: 'a' } });
    fact(turn, 1, { type: 'usage_reported', usage: { ...usage, output: 1 } });
    fact(turn, 1, { type: 'response_finished', itemId: 'i', stop, usage });
    fact(turn, 0, { type: 'turn_finished', stop });
    fact(0, 0, { type: 'run_finished', runId: `r${turn}`, stop });
  }
  return records;
}

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

describe('an outline', () => {
  test('sums up runs, turns, calls, errors and usage in segments that start between runs', () => {
    const { segments, through } = foldOutline(emptyOutline, session(20, 30));
    expect(through).toBe(20 * 36);
    expect(segments).toHaveLength(20);
    expect(segments[3]).toMatchObject({
      ...{ after: 108, through: 144, startTime: 1090, endTime: 1440, records: 36 },
      ...{ runs: 1, turns: 1, calls: 0, errors: 0, firstTurn: 4, isRunStart: true },
      usage: { input: 10, output: 2 },
    });
  });

  test('stays small however long the log is, and its segments stay short', () => {
    const records = session(2000, 40);
    const { segments } = foldOutline(emptyOutline, records);
    expect(segments.length).toBeLessThanOrEqual(256);
    expect(sum(segments.map(({ turns }) => turns))).toBe(2000);
    expect(sum(segments.map(({ usage: { input } }) => input))).toBe(20_000);
    expect(segments.every(({ isRunStart }) => isRunStart)).toBe(true);
    expect(Math.max(...segments.map((one) => one.records))).toBeLessThan(records.length / 32);
  });

  test('splits a single long turn too, and says that these segments start inside of a run', () => {
    const { segments } = foldOutline(emptyOutline, session(1, 20_000));
    expect(segments.length).toBeGreaterThan(10);
    expect(segments.map(({ isRunStart }) => isRunStart).indexOf(true, 1)).toBe(-1);
  });

  test('a parked run leaves something open, so no segment starts after it', () => {
    const parked = session(1, 40).map((record): LogRecord => {
      const { fact, delta: _, ...head } = record;
      if (fact?.type !== 'run_finished') return record;
      return { ...head, fact: { ...fact, stop: { reason: 'parked' } } };
    });
    expect(foldOutline(emptyOutline, parked).isIdle).toBe(false);
    expect(foldOutline(emptyOutline, session(1, 40)).isIdle).toBe(true);
  });

  test('law: folding in pieces gives the same outline, and the segments cover the log', () => {
    const logs = fc.array(fc.nat(), { maxLength: 400 }).map(randomLog);
    fc.assert(
      fc.property(logs, fc.nat(), (records, cut) => {
        const options = { maxSegments: 4 };
        const at = records.length === 0 ? 0 : cut % records.length;
        const whole = foldOutline(emptyOutline, records, options);
        const half = foldOutline(emptyOutline, records.slice(0, at), options);
        const copy = structuredClone(half);
        expect(foldOutline(half, records.slice(at), options)).toEqual(whole);
        expect(half).toEqual(copy);
        expect(whole.segments.length).toBeLessThanOrEqual(4);
        expect(sum(whole.segments.map((one) => one.records))).toBe(records.length);
        for (const [index, segment] of whole.segments.entries())
          expect(segment.after).toBe(whole.segments[index - 1]?.through ?? 0);
      }),
      { numRuns: runs(400) },
    );
  });
});
