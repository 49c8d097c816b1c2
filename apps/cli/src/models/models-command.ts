import type { ModelInfo, ModelPrices } from '@millrace/providers';
import type { ModelsArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { Output, type OutputStream } from '../print/output.ts';
import { countOf, textTable } from '../print/text-table.ts';
import { oneLine } from '../text/cells/printable.ts';
import { knownModels, modelFacts } from './known-models.ts';
import type { LocalServerOptions } from './local-servers.ts';
import { loadModelTable, storeModelTable } from './model-table.ts';
import { firstSetVariable, vendors } from './vendors.ts';

export interface ModelsCommandOptions extends LocalServerOptions {
  readonly args: ModelsArgs;
  readonly config: Pick<Config, 'models'>;
  readonly stdout: OutputStream;
}

/**
 * Runs `millrace models`. It lists the models that can be used now, with limits and prices. With
 * `--refresh`, it stores a newer table of models.
 */
export async function modelsCommand(options: ModelsCommandOptions): Promise<number> {
  const { args, env, stdout } = options;
  const output = new Output(stdout);
  if (args.refresh !== undefined) {
    const { count, path } = await storeModelTable(args.refresh, env);
    await output.write(`Stored ${countOf(count, 'model')} in ${path}\n`);
  } else {
    const rows = await listedModels(options);
    if (args.json) await output.writeData(`${JSON.stringify(rows, undefined, 2)}\n`);
    else await output.write(`${tableLines(rows, env, stdout.columns).join('\n')}\n`);
  }
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}

interface ListedModel {
  readonly name: string;
  readonly from: string;
  readonly info: ModelInfo;
}

async function listedModels(options: ModelsCommandOptions): Promise<readonly ListedModel[]> {
  const { env, config } = options;
  const [known, table] = await Promise.all([
    knownModels(env, config, options),
    loadModelTable(env),
  ]);
  return known.map((one) => {
    const { name, from } = one;
    return { name, from, info: modelFacts(one, config, table) };
  });
}

const noValue = '–';
const head = ['model', 'input', 'output', '$ in', '$ cached', '$ out', 'from'];

/** Formats the models as a table. Prices are per million tokens. */
function tableLines(models: readonly ListedModel[], env: Env, columns?: number): readonly string[] {
  const rows = models.map(({ name, from, info }) => {
    const { contextTokens, maxOutputTokens, prices } = info;
    return [
      oneLine(name, 100),
      contextTokens?.toLocaleString('en') ?? noValue,
      maxOutputTokens?.toLocaleString('en') ?? noValue,
      ...priceCells(prices),
      oneLine(from, 60),
    ];
  });
  const table = textTable([head, ...rows], { columns, rightAligned: [1, 2, 3, 4, 5] });
  const units = 'Limits are in tokens. Prices are for a million tokens.';
  const hasKey = vendors.some((vendor) => firstSetVariable(env, vendor.keyVariables) !== undefined);
  const isOnlyDemo = models.length === 1 && !hasKey;
  const more = isOnlyDemo
    ? 'No API key is set and no local model server answers. millrace doctor lists what to set.'
    : 'Providers have more models than these: use --model provider/model.';
  return [...table, '', units, more];
}

function priceCells(prices: ModelPrices | 'reported' | undefined): readonly string[] {
  if (prices === 'reported') return [noValue, 'reported', noValue];
  const { input = noValue, cacheRead = noValue, output = noValue, currency = 'USD' } = prices ?? {};
  const unit = currency === 'USD' ? '' : ` ${currency}`;
  return [input, cacheRead, output].map((amount) => (amount === noValue ? amount : amount + unit));
}
