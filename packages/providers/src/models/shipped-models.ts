import type { ModelTable } from '../contract/model-info.ts';
import { pricesText } from './data/prices.ts';
import { knownTraits } from './known-traits.ts';
import { tableOfText } from './model-info.ts';
import { joinInfo } from './model-table.ts';

/**
 * The table of models that this package ships: limits, abilities and prices. The data is as old as the
 * package, and prices change. Use `joinTables` to combine the table with newer data.
 *
 * @example
 * const provider = anthropic({ model: 'claude-sonnet-5', models });
 */
export const models: ModelTable = joinTables(tableOfText(pricesText), knownTraits);

/**
 * Joins tables. A field of an earlier table takes precedence over the same field of a later table.
 *
 * @example
 * const own = createModelTable({ 'vllm/qwen3-32b': { contextTokens: 40_960 } });
 * const table = joinTables(own, models);
 */
export function joinTables(...tables: readonly (ModelTable | undefined)[]): ModelTable {
  return {
    find: (provider, model) => {
      const found = tables.flatMap((table) => table?.find(provider, model) ?? []);
      return found.length < 2 ? found[0] : joinInfo(...found);
    },
  };
}
