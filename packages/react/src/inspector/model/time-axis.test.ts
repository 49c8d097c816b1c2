import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { longPauseMs, TimeAxis } from './time-axis.ts';

const axisOf = (times: readonly number[]): TimeAxis => {
  const axis = new TimeAxis();
  for (const time of times) axis.add(time);
  return axis;
};

describe('the time axis', () => {
  test('counts from the first record', () => {
    const axis = axisOf([1000, 1200, 1700]);
    expect(axis.times.map((time) => axis.position(time, true))).toEqual([0, 200, 700]);
    expect(axis.lengthMs(true)).toBe(700);
  });

  test('shortens a long pause to a second if requested', () => {
    const day = 86_400_000;
    const axis = axisOf([0, 100, 100 + day, 200 + day]);
    expect(axis.times.map((time) => axis.position(time, true))).toEqual([0, 100, 1100, 1200]);
    expect(axis.lengthMs(false)).toBe(200 + day);
    expect(axis.position(100 + day / 2, true)).toBe(600);
    expect(axis.pauses).toMatchObject([{ at: 100, ms: day }]);
  });

  test('never goes back, even if the clock does', () => {
    const axis = axisOf([1000, 400, 1500]);
    expect(axis.times).toEqual([1000, 1000, 1500]);
  });

  test('finds the record of each position, in order, for any times', () => {
    const gap = fc.oneof(fc.nat(100), fc.integer({ min: 1, max: 20 * longPauseMs }));
    fc.assert(
      fc.property(fc.array(gap, { minLength: 1 }), fc.boolean(), (gaps, shortenPauses) => {
        let now = 5000;
        const axis = axisOf(gaps.map((ms) => (now += ms)));
        const positions = axis.times.map((time) => axis.position(time, shortenPauses));
        for (const [index, position] of positions.entries()) {
          expect(position).toBeGreaterThanOrEqual(positions[index - 1] ?? 0);
          const found = axis.indexAt(position, shortenPauses);
          expect(axis.timeAt(position, shortenPauses)).toBeCloseTo(axis.times[index] ?? 0, 3);
          // If several records have the same time, the last one must be found.
          expect(found).toBe(positions.findLastIndex((other) => other <= position));
        }
        expect(axis.indexAt(-1, shortenPauses)).toBe(0);
      }),
    );
  });
});
