import { expect, test } from 'vitest';
import { formatCount, formatDuration, formatMoney, formatTokens } from './format-amounts.ts';

test('formatDuration rounds longer durations', () => {
  expect([0, 340, 9_949, 12_300, 59_600, 125_000].map(formatDuration)).toEqual([
    ...['0.0 s', '0.3 s', '9.9 s', '12 s', '1 min 0 s', '2 min 5 s'],
  ]);
});

test('formatTokens uses thousands and millions', () => {
  expect([0, 999, 1000, 9_940, 12_345, 999_499, 1_200_000].map(formatTokens)).toEqual([
    ...['0', '999', '1.0k', '9.9k', '12k', '999k', '1.2M'],
  ]);
});

test('formatMoney shows small amounts with more digits', () => {
  const usd = (amount: string) => formatMoney([{ amount, currency: 'USD' }]);
  expect(['0', '0.0004', '0.0123', '1.5'].map(usd)).toEqual([
    '$0.00',
    '$0.0004',
    '$0.012',
    '$1.50',
  ]);
  expect(
    formatMoney([
      { amount: '1', currency: 'EUR' },
      { amount: '2', currency: 'XYZ' },
    ]),
  ).toBe('€1.00 + 2.00 XYZ');
});

test('formatCount uses the singular for one', () => {
  expect([formatCount(1, 'line'), formatCount(0, 'line'), formatCount(12_000, 'line')]).toEqual([
    ...['1 line', '0 lines', '12,000 lines'],
  ]);
});
