import type { ModelTable } from '../contract/model-info.ts';
import { pricesText } from './data/prices.ts';
import { knownTraits, tableOfText } from './known-traits.ts';
import { joinTables } from './model-table.ts';

const prices = tableOfText(pricesText);

/**
 * The table of models that this package ships: limits, abilities and prices. Prices change; the
 * table is as old as the package. `joinTables` puts newer facts before it.
 *
 * @example
 * import { anthropic } from '@millrace/providers';
 * import { models } from '@millrace/providers/models';
 *
 * const provider = anthropic({ model: 'claude-sonnet-5', models });
 */
export const models: ModelTable = joinTables(prices, knownTraits);
