import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDecimals,
  addUsage,
  cachedPercent,
  compareDecimals,
  isDecimal,
  noUsage,
  type Usage,
} from './usage.ts';

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 29 });
const decimals = fc
  .tuple(fc.constantFrom('', '-'), digits, fc.option(digits))
  .map(([sign, whole, part]) => `${sign}${whole}${part === null ? '' : `.${part}`}`);

/** The decimal as a whole number of 10^-30. */
function exactly(text: string): bigint {
  const [whole = '', part = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole + part.padEnd(30, '0'));
  return text.startsWith('-') ? -value : value;
}

const placesOf = (text: string) => text.split('.')[1]?.length ?? 0;

describe('a decimal', () => {
  test.each(['0', '-0', '007', '0.25', '-0.000125', '12345678901234567890.5', '9'.repeat(30)])(
    'is %s',
    (text) => expect(isDecimal(text)).toBe(true),
  );

  test.each([
    ['', '-', '.', '.5', '5.', '-.5', '1.2.3', '--1', '+1', '1e3', '1E3', '0x1', '1_000', '1,5'],
    [' 1', '1 ', '1\n', '\n1', 'NaN', 'Infinity', '٣', '1.٣', '９', '1n'],
    ['9'.repeat(31), `0.${'9'.repeat(31)}`],
  ])('is not %j, nor any of %j', (...texts) => {
    expect(texts.filter(isDecimal)).toEqual([]);
  });
});

describe('the sum of two decimals', () => {
  test('is exact, has the decimals of the longer, and is a decimal', () => {
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        const sum = addDecimals(a, b);
        expect(exactly(sum)).toBe(exactly(a) + exactly(b));
        expect(placesOf(sum)).toBe(Math.max(placesOf(a), placesOf(b)));
        expect(isDecimal(sum)).toBe(true);
      }),
    );
  });

  test('is the same in any order', () => {
    fc.assert(
      fc.property(decimals, decimals, decimals, (a, b, c) => {
        expect(addDecimals(a, b)).toBe(addDecimals(b, a));
        expect(addDecimals(addDecimals(a, b), c)).toBe(addDecimals(a, addDecimals(b, c)));
      }),
    );
  });

  test.each([
    ['0.1', '0.2', '0.3'],
    ['1', '2', '3'],
    ['1', '0.05', '1.05'],
    ['0.95', '0.05', '1.00'],
    ['-0.5', '0.25', '-0.25'],
    ['-0.5', '0.5', '0.0'],
    ['-0.05', '-0.05', '-0.10'],
    ['5', '-7.5', '-2.5'],
    ['-0', '0', '0'],
    ['-0.00', '-0', '0.00'],
    ['007', '0', '7'],
    ['9007199254740993', '0.000000000000000001', '9007199254740993.000000000000000001'],
  ])('%s and %s is %s', (a, b, sum) => {
    expect(addDecimals(a, b)).toBe(sum);
  });
});

describe('two decimals compared', () => {
  const sign = (value: bigint) => (value < 0n ? -1 : value > 0n ? 1 : 0);

  test('are below, at or above each other as their exact values are', () => {
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        expect(compareDecimals(a, b)).toBe(sign(exactly(a) - exactly(b)));
      }),
    );
  });

  test('are told apart by the last of many digits', () => {
    fc.assert(
      fc.property(decimals, fc.integer({ min: 1, max: 29 }), (a, places) => {
        const more = addDecimals(a, `0.${'0'.repeat(places - 1)}1`);
        expect([compareDecimals(a, more), compareDecimals(more, a)]).toEqual([-1, 1]);
      }),
    );
  });

  test.each([
    ['0.50', '0.5', 0],
    ['-0', '0.00', 0],
    ['007', '7', 0],
    ['9', '10', -1],
    ['-9', '-10', 1],
    ['-0.1', '0.05', -1],
    ['0.30000000000000004', '0.3', 1],
    ['9007199254740993', '9007199254740992', 1],
  ])('%s and %s are %i', (a, b, order) => {
    expect(compareDecimals(a, b)).toBe(order);
  });
});

const usages: fc.Arbitrary<Usage> = fc.record(
  {
    input: fc.nat(),
    output: fc.nat(),
    cacheRead: fc.nat(),
    cacheWrite: fc.nat(),
    cacheWriteLong: fc.nat(),
    reasoning: fc.nat(),
    estimated: fc.boolean(),
    costs: fc.array(
      fc.record({ amount: decimals, currency: fc.constantFrom('USD', 'EUR', 'JPY', '__proto__') }),
      { maxLength: 5 },
    ),
    billed: fc.dictionary(fc.constantFrom('searches', 'fetches', '__proto__'), fc.nat()),
  },
  {
    requiredKeys: ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'estimated', 'costs'],
  },
);

/** Costs as a map, since the order of currencies means nothing. */
const byCurrency = (usage: Usage) => ({
  ...usage,
  costs: new Map(usage.costs.map(({ amount, currency }) => [currency, amount])),
  billed: new Map(Object.entries(usage.billed ?? {})),
});

describe('the sum of what was used', () => {
  test('is the same in any order', () => {
    fc.assert(
      fc.property(usages, usages, usages, (a, b, c) => {
        expect(byCurrency(addUsage(a, b))).toEqual(byCurrency(addUsage(b, a)));
        const left = addUsage(addUsage(a, b), c);
        expect(byCurrency(left)).toEqual(byCurrency(addUsage(a, addUsage(b, c))));
      }),
    );
  });

  test('has each currency once, with all that was paid in it', () => {
    fc.assert(
      fc.property(usages, usages, (a, b) => {
        const { costs } = addUsage(a, b);
        const currencies = costs.map(({ currency }) => currency);
        expect(currencies).toEqual([...new Set(currencies)]);
        for (const { amount, currency } of costs) {
          const paid = [...a.costs, ...b.costs].filter((cost) => cost.currency === currency);
          const total = paid.reduce((sum, cost) => sum + exactly(cost.amount), 0n);
          expect(exactly(amount)).toBe(total);
        }
      }),
    );
  });

  test('adds what is billed beside tokens by name, and is silent where nothing was reported', () => {
    const searched = { ...noUsage, cacheWriteLong: 5, billed: { searches: 2, ['__proto__']: 1 } };
    const fetched = { ...noUsage, billed: { searches: 1, fetches: 3 } };
    const sum = addUsage(searched, fetched);
    expect(sum.cacheWriteLong).toBe(5);
    expect(Object.entries(sum.billed ?? {}).sort()).toEqual([
      ['__proto__', 1],
      ['fetches', 3],
      ['searches', 3],
    ]);
    expect(addUsage(noUsage, noUsage)).toStrictEqual(noUsage);
  });

  test('with nothing is what it was', () => {
    const usage: Usage = {
      input: 1,
      output: 2,
      cacheRead: 3,
      cacheWrite: 4,
      cacheWriteLong: 1,
      billed: { searches: 2 },
      reasoning: 5,
      estimated: true,
      costs: [
        { amount: '0.10', currency: 'USD' },
        { amount: '3', currency: 'EUR' },
      ],
    };
    expect(addUsage(usage, noUsage)).toEqual(usage);
    expect(addUsage(noUsage, usage)).toEqual(usage);
  });

  test('is estimated if any of it is', () => {
    const estimated = { ...noUsage, estimated: true };
    expect(addUsage(noUsage, noUsage).estimated).toBe(false);
    expect(addUsage(estimated, noUsage).estimated).toBe(true);
    expect(addUsage(noUsage, estimated).estimated).toBe(true);
  });

  test('has a share that came from the cache, if anything was sent', () => {
    expect(cachedPercent(noUsage)).toBeUndefined();
    expect(cachedPercent({ ...noUsage, input: 1200, cacheRead: 1000 })).toBe(83);
    expect(cachedPercent({ ...noUsage, input: 10 })).toBe(0);
  });

  test('changes neither of the two', () => {
    const cost = { amount: '1', currency: 'USD' };
    const usage = Object.freeze({ ...noUsage, costs: Object.freeze([Object.freeze(cost)]) });
    expect(addUsage(usage, usage).costs).toEqual([{ amount: '2', currency: 'USD' }]);
    expect(usage.costs).toEqual([cost]);
  });
});
