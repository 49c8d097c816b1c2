import type { ModelInfo, ModelTable } from '../contract/model-info.ts';
import { assertPrices } from './check-prices.ts';
import { joinInfo, tableOf } from './model-table.ts';

/** The options of a provider that describe its model. */
export interface ModelInfoOptions {
  /**
   * A table of models, such as `models` of `@millrace/providers/models`. Default: a table without prices,
   * which contains the limits and abilities of models whose vendors offer this API.
   */
  readonly models?: ModelTable | undefined;
  /** Facts about this model. They take precedence over the tables. Default: none. */
  readonly info?: ModelInfo | undefined;
}

/**
 * Returns the data about the model of a provider. `traits` is the table that is part of the provider. Call
 * it once, when the provider is created.
 */
export function modelInfo(
  traits: ModelTable,
  provider: string,
  model: string,
  { models, info }: ModelInfoOptions,
): ModelInfo {
  const known = joinInfo(info, models?.find(provider, model), traits.find(provider, model));
  if (typeof known.prices === 'object') assertPrices(known.prices, model);
  return known;
}

/**
 * Creates a table from lines. Each line has data as JSON, a tab, and the models to which the data applies. A
 * program usually needs only one row. The lines are therefore split at the first lookup, and a row is parsed
 * only when it is found.
 */
export function tableOfText(text: string): ModelTable {
  let index: ReadonlyMap<string, string> | undefined;
  let families: readonly string[] = [];
  const indexed = () => {
    if (index === undefined) {
      index = indexOf(text);
      families = [...index.keys()].flatMap((key) => (key.endsWith('*') ? key.slice(0, -1) : []));
    }
    return index;
  };
  return tableOf({
    get families() {
      indexed();
      return families;
    },
    row: (key) => {
      const json = indexed().get(key);
      return json === undefined ? undefined : (JSON.parse(json) as ModelInfo);
    },
  });
}

function indexOf(text: string): ReadonlyMap<string, string> {
  const entries = text.split('\n').flatMap((line) => {
    const [json = '', keys = ''] = line.split('\t');
    return keys === '' ? [] : keys.split(' ').map((key) => [key, json] as const);
  });
  return new Map(entries);
}
