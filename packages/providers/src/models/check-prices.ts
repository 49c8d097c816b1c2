import { isDecimal } from '@millrace/core';
import type { ModelPrices, TokenPrices } from '../contract/model-info.ts';

/**
 * Throws if a price is not an exact decimal number. Without this check, the error would appear only at the
 * end of the first answer.
 */
export function assertPrices(prices: ModelPrices, model: string): void {
  const tiers = [prices, ...(prices.above ?? [])];
  for (const [name, price] of tiers.flatMap((tier) => Object.entries(withDefaults(tier)))) {
    if (typeof price === 'string' && isDecimal(price)) continue;
    throw new TypeError(
      `Cannot use the ${name} price ${String(price)} of ${model}: ` +
        "use a decimal in quotes, such as '0.25', for a million tokens",
    );
  }
}

/** Returns all prices of a tier. If a price is missing, a different price of the same tier is its default. */
export function withDefaults(tier: TokenPrices): Readonly<Record<keyof TokenPrices, string>> {
  const { input, output, cacheRead = input, cacheWrite = input, reasoning = output } = tier;
  const { cacheWriteLong = cacheWrite } = tier;
  return { input, output, cacheRead, cacheWrite, cacheWriteLong, reasoning };
}
