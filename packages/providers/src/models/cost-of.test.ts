import { addDecimals, compareDecimals, isDecimal, noUsage, type Usage } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { ModelPrices } from '../contract/model-info.ts';
import { costOf, withCost } from './cost-of.ts';

const prices: ModelPrices = {
  input: '5',
  output: '25',
  cacheRead: '0.5',
  cacheWrite: '6.25',
  cacheWriteLong: '10',
  above: [
    { inputTokens: 500_000, input: '20', output: '75' },
    { inputTokens: 200_000, input: '10', output: '37.5', cacheRead: '1' },
  ],
};

const usage = (counts: Partial<Usage> & { readonly cacheWriteLong?: number }): Usage => ({
  ...noUsage,
  ...counts,
});

const amount = (counts: Parameters<typeof usage>[0], own = prices) =>
  costOf(usage(counts), own).amount;

describe('the cost of an answer', () => {
  test('is exact, and has at least two digits after the point', () => {
    expect(amount({ input: 3, output: 1 })).toBe('0.00004');
    expect(amount({ input: 100_000, output: 100_000 })).toBe('3.00');
    expect(costOf(usage({ input: 1 }), { ...prices, currency: 'EUR' })).toEqual({
      amount: '0.000005',
      currency: 'EUR',
    });
  });

  test('has a price for tokens that a cache read or stored, by its lifetime', () => {
    expect(amount({ input: 100, cacheRead: 100 })).toBe('0.00005');
    expect(amount({ input: 100, cacheWrite: 100 })).toBe('0.000625');
    expect(amount({ input: 100, cacheWrite: 100, cacheWriteLong: 40 })).toBe('0.000775');
    const plain = { input: '5', output: '25' };
    expect(amount({ input: 100, cacheRead: 40, cacheWrite: 40 }, plain)).toBe('0.0005');
  });

  test('counts reasoning as output, or at a price of its own', () => {
    expect(amount({ output: 100, reasoning: 60 })).toBe('0.0025');
    expect(amount({ output: 100, reasoning: 60 }, { ...prices, reasoning: '50' })).toBe('0.004');
  });

  test('uses the prices of the largest limit that the input exceeds', () => {
    expect(amount({ input: 200_000 })).toBe('1.00');
    expect(amount({ input: 200_001 })).toBe('2.00001');
    expect(amount({ input: 600_000, output: 100 })).toBe('12.0075');
    expect(amount({ input: 300_000, cacheRead: 100_000 })).toBe('2.10');
  });

  const count = fc.nat({ max: 2 ** 40 });
  const price = fc
    .tuple(fc.nat({ max: 9999 }), fc.nat({ max: 999_999 }))
    .map(([whole, rest]) => `${whole}.${String(rest).padStart(6, '0')}`);

  test('equals the sum over single tokens, and never falls when tokens are added', () => {
    fc.assert(
      fc.property(count, count, price, price, (input, output, perInput, perOutput) => {
        const own = { input: perInput, output: perOutput };
        const both = costOf(usage({ input, output }), own).amount;
        const apart = addDecimals(
          costOf(usage({ input }), own).amount,
          costOf(usage({ output }), own).amount,
        );
        expect(compareDecimals(both, apart)).toBe(0);
        expect(isDecimal(both)).toBe(true);
        const units = (text: string) => BigInt(text.replace('.', ''));
        const millionths = BigInt(input) * units(perInput) + BigInt(output) * units(perOutput);
        const scaled = both.padEnd(both.indexOf('.') + 13, '0').replace('.', '');
        expect(BigInt(scaled)).toBe(millionths);
        const more = costOf(usage({ input: input + 1, output }), own).amount;
        expect(compareDecimals(more, both)).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: runs(200) },
    );
  });
});

describe('a usage', () => {
  test('gets the cost only if the provider reports none', () => {
    const counted = usage({ input: 100 });
    expect(withCost(counted, prices).costs).toEqual([{ amount: '0.0005', currency: 'USD' }]);
    const reported = usage({ input: 100, costs: [{ amount: '7', currency: 'USD' }] });
    expect(withCost(reported, prices)).toBe(reported);
    for (const none of [undefined, 'reported'] as const)
      expect(withCost(counted, none)).toBe(counted);
  });

  test('without tokens has no cost', () => {
    expect(withCost(noUsage, prices)).toBe(noUsage);
  });
});
