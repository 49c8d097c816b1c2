import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fitWindow, moveWindow, percentIn, ticksIn, zoomWindow } from './zoom.ts';

describe('a range of the axis', () => {
  test('stays within the axis, however it is zoomed and moved', () => {
    const step = fc.oneof(
      fc.record({ factor: fc.double({ min: 0.1, max: 10, noNaN: true }), around: fc.nat(10_000) }),
      fc.integer({ min: -20_000, max: 20_000 }),
    );
    fc.assert(
      fc.property(fc.array(step), (moves) => {
        const lengthMs = 10_000;
        let window = { from: 0, to: lengthMs };
        for (const move of moves) {
          window =
            typeof move === 'number'
              ? moveWindow(window, move, lengthMs)
              : zoomWindow(window, { ...move, lengthMs });
          expect(window.from).toBeGreaterThanOrEqual(0);
          expect(window.to).toBeLessThanOrEqual(lengthMs + 0.001);
          expect(window.to - window.from).toBeGreaterThanOrEqual(19.999);
        }
      }),
    );
  });

  test('keeps the position under the pointer in place', () => {
    const before = { from: 2000, to: 6000 };
    const after = zoomWindow(before, { factor: 0.5, around: 3000, lengthMs: 10_000 });
    expect(after).toEqual({ from: 2500, to: 4500 });
    expect(percentIn(after, 3000)).toBe(percentIn(before, 3000));
  });

  test('shows a very short session', () => {
    expect(fitWindow({ from: 0, to: 0 }, 0)).toEqual({ from: 0, to: 20 });
  });

  test('has a ruler of round numbers', () => {
    expect(ticksIn({ from: 0, to: 10_000 }, 5)).toEqual([0, 2000, 4000, 6000, 8000, 10_000]);
    expect(ticksIn({ from: 1234, to: 1534 }, 6)).toEqual([1250, 1300, 1350, 1400, 1450, 1500]);
  });
});
