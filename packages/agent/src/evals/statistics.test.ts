import { expect, test } from 'vitest';
import { meanInterval, normalQuantile, tQuantile, wilsonInterval } from './statistics.ts';

test('the quantiles have the values of printed tables', () => {
  expect(normalQuantile(0.975)).toBeCloseTo(1.959964, 6);
  expect(normalQuantile(0.995)).toBeCloseTo(2.575829, 6);
  const table = [
    ...[
      [1, 12.7062],
      [2, 4.3027],
      [3, 3.1824],
      [4, 2.7764],
      [9, 2.2622],
      [10, 2.2281],
    ],
    ...[
      [30, 2.0423],
      [60, 2.0003],
      [120, 1.9799],
      [100_000, 1.96],
    ],
  ] as const;
  for (const [degrees = 0, value = 0] of table)
    expect(tQuantile(0.975, degrees)).toBeCloseTo(value, 4);
  expect(tQuantile(0.995, 5)).toBeCloseTo(4.0321, 4);
});

test('a Wilson interval has known values, and a width if all cases pass', () => {
  const rounded = (rate: number, count: number) => {
    const { low, high, method } = wilsonInterval(rate, count, 0.95);
    expect(method).toBe('wilson');
    return [low.toFixed(4), high.toFixed(4)];
  };
  expect(rounded(0.8, 10)).toEqual(['0.4902', '0.9433']);
  expect(rounded(81 / 263, 263)).toEqual(['0.2553', '0.3662']);
  expect(rounded(1, 50)).toEqual(['0.9287', '1.0000']);
  expect(rounded(0, 10)).toEqual(['0.0000', '0.2775']);
});

test('an interval of a mean has known values, and needs two of them', () => {
  // The mean is 5, the standard deviation is √(32/7), and t is 2.3646.
  const { low, high } = meanInterval([2, 4, 4, 4, 5, 5, 7, 9], 0.95, [0, 10]) ?? {};
  expect([low?.toFixed(3), high?.toFixed(3)]).toEqual(['3.213', '6.787']);
  expect(meanInterval([0.9, 1, 0.2], 0.95, [0, 1])).toMatchObject({ low: 0, high: 1, method: 't' });
  expect(meanInterval([1], 0.95, [0, 1])).toBeUndefined();
});
