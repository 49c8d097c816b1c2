import type { Cost, Usage } from '@millrace/core';
import type { ModelPrices, TokenPrices } from '../contract/model-info.ts';
import { withDefaults } from './check-prices.ts';

/**
 * The token usage of an answer. `cacheWriteLong` is the part of `cacheWrite` with a long lifetime, if the
 * provider reports it.
 */
type BilledUsage = Usage & { readonly cacheWriteLong?: number | undefined };

/**
 * Returns the cost of a usage as an exact decimal number. The cost is the list price of the tokens at the
 * provider's standard tier. It does not include discounts, hosted tools or taxes.
 *
 * @example
 * const { prices } = models.find('anthropic', 'claude-opus-4-8') ?? {};
 * if (typeof prices === 'object') console.log(costOf(usage, prices).amount);
 */
export function costOf(usage: BilledUsage, prices: ModelPrices): Cost {
  const { input, output, cacheRead, cacheWrite, cacheWriteLong, reasoning } = rates(usage, prices);
  const counts = tokenCounts(usage);
  const charges: readonly (readonly [tokens: number, price: string])[] = [
    [counts.input, input],
    [counts.cacheRead, cacheRead],
    [counts.cacheWrite, cacheWrite],
    [counts.cacheWriteLong, cacheWriteLong],
    [counts.output, output],
    [counts.reasoning, reasoning],
  ];
  const decimals = Math.max(...charges.map(([, price]) => decimalsOf(price)));
  const total = charges.reduce(
    (sum, [tokens, price]) => sum + BigInt(tokens) * scaled(price, decimals),
    0n,
  );
  return { amount: written(total, decimals + millionDigits), currency: prices.currency ?? 'USD' };
}

/** Adds the cost to a usage that has no cost. If the provider reported a cost, that cost is kept. */
export function withCost(usage: Usage, prices: ModelPrices | 'reported' | undefined): Usage {
  const isKnown = prices !== undefined && prices !== 'reported' && usage.costs.length === 0;
  if (!isKnown || usage.input + usage.output === 0) return usage;
  return { ...usage, costs: [costOf(usage, prices)] };
}

/**
 * Splits a usage into counts, so that each token is in exactly one count. No count is negative, even if a
 * reported total is smaller than the sum of its parts.
 */
function tokenCounts(usage: BilledUsage) {
  const { cacheRead, cacheWrite, reasoning } = usage;
  const cacheWriteLong = Math.min(usage.cacheWriteLong ?? 0, cacheWrite);
  return {
    input: Math.max(0, usage.input - cacheRead - cacheWrite),
    cacheRead,
    cacheWrite: cacheWrite - cacheWriteLong,
    cacheWriteLong,
    output: Math.max(0, usage.output - reasoning),
    reasoning,
  };
}

/** Returns the prices that apply to this usage. */
function rates(usage: Usage, prices: ModelPrices): Readonly<Record<keyof TokenPrices, string>> {
  const exceeded = (prices.above ?? []).filter(({ inputTokens }) => usage.input > inputTokens);
  const tier = exceeded.reduce<TokenPrices>(
    (highest, one) => (limitOf(one) > limitOf(highest) ? one : highest),
    prices,
  );
  return withDefaults(tier);
}

function limitOf(prices: TokenPrices): number {
  return 'inputTokens' in prices ? Number(prices.inputTokens) : 0;
}

/** The number of decimals by which the result is shifted, because prices are for a million tokens. */
const millionDigits = 6;

function decimalsOf(price: string): number {
  const point = price.indexOf('.');
  return point < 0 ? 0 : price.length - point - 1;
}

function scaled(price: string, decimals: number): bigint {
  return BigInt(price.replace('.', '') + '0'.repeat(decimals - decimalsOf(price)));
}

/** Formats the decimal number without zeros at its end, but with at least two digits after the point. */
function written(value: bigint, decimals: number): string {
  const digits = value.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0');
  return `${digits.slice(0, -decimals)}.${fraction}`;
}
