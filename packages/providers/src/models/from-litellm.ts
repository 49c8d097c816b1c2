import type {
  ModelEffort,
  ModelInfo,
  ModelInput,
  ModelPrices,
  TierPrices,
  TokenPrices,
} from '../contract/model-info.ts';
import { modelEfforts, modelInputs } from '../contract/model-info.ts';
import { correctedInfo, knownFamilies } from './corrections.ts';
import type { ModelRows } from './model-table.ts';

/** A row of LiteLLM's list. Its fields are checked when they are read. */
type ListRow = Readonly<Record<string, unknown>>;

/** The vendors whose rows are kept. The keys are LiteLLM's names of the vendors. */
const vendorNames: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'gemini',
  xai: 'xai',
  groq: 'groq',
  mistral: 'mistral',
  deepseek: 'deepseek',
  together_ai: 'together',
  moonshot: 'moonshot',
  zai: 'zai',
  minimax: 'minimax',
  cerebras: 'cerebras',
};

/**
 * The vendors whose rows are complete. If a row of these vendors does not list an ability, the model does not
 * have the ability.
 */
const completeVendors = new Set(['anthropic', 'openai', 'gemini', 'deepseek']);

/**
 * Converts LiteLLM's list of models. It is the file `model_prices_and_context_window.json` in LiteLLM's
 * repository and Python package. Rows of other kinds of models and of other vendors are omitted. Throws a
 * `TypeError` if the value is not such a list.
 */
export function rowsFromLiteLlm(list: unknown): ModelRows {
  if (!isRecord(list)) throw new TypeError('Cannot read the list of models: it is no JSON object');
  const rows = new Map<string, ModelInfo>();
  for (const [key, row] of Object.entries(list)) {
    if (!isRecord(row) || (row['mode'] !== 'chat' && row['mode'] !== 'responses')) continue;
    const vendor = vendorNames[String(row['litellm_provider'])];
    if (vendor === undefined) continue;
    const name = key.replace(/^[a-z_]+\//, (prefix) => (isPrefix(prefix, row) ? '' : prefix));
    const own = `${vendor}/${name.toLowerCase()}`;
    const info = infoOf(vendor, name.toLowerCase(), row);
    // The list can contain the same model with and without a prefix. The first row is kept.
    if (Object.keys(info).length > 0 && !rows.has(own)) rows.set(own, info);
  }
  if (rows.size === 0) throw new TypeError('Cannot read the list of models: no row has a model');
  return { ...knownFamilies, ...withoutRepeatedDates(rows) };
}

function isPrefix(prefix: string, row: ListRow): boolean {
  return prefix === `${String(row['litellm_provider'])}/`;
}

const dateEnd = /-20\d{2}-?[01]\d-?[0-3]\d$/;

/**
 * Removes rows with a date that are equal to the row without a date, because a lookup ignores the date. If a
 * name has no row without a date, the newest row with a date is used for it.
 */
function withoutRepeatedDates(all: ReadonlyMap<string, ModelInfo>): ModelRows {
  const rows = new Map(all);
  for (const key of [...all.keys()].filter((name) => dateEnd.test(name)).sort()) {
    const base = key.replace(dateEnd, '');
    if (!all.has(base)) rows.set(base, all.get(key) ?? {});
  }
  for (const [key, info] of all) {
    const base = rows.get(key.replace(dateEnd, ''));
    if (dateEnd.test(key) && JSON.stringify(base) === JSON.stringify(info)) rows.delete(key);
  }
  return Object.fromEntries([...rows].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function infoOf(vendor: string, name: string, row: ListRow): ModelInfo {
  const isComplete = completeVendors.has(vendor);
  const flag = (field: string) => (typeof row[field] === 'boolean' ? row[field] : undefined);
  const reasons = flag('supports_reasoning') ?? (isComplete ? false : undefined);
  const efforts = effortsOf(row, reasons);
  const info: ModelInfo = {
    contextTokens: countOf(row['max_input_tokens']),
    maxOutputTokens: countOf(row['max_output_tokens']),
    inputs: inputsOf(row, isComplete),
    reasons,
    efforts,
    defaultEffort: modelEfforts.find((effort) => effort === row['default_reasoning_effort']),
    alwaysThinks: flag('thinking_always_on') === true ? true : undefined,
    sampling: flag('supports_sampling_params') === false ? 'never' : undefined,
    forcedTools: flag('supports_forced_tool_use') === false ? false : undefined,
    ...(vendor === 'anthropic' && {
      thinking: flag('supports_adaptive_thinking') === true ? 'effort' : 'budget',
      prefill: flag('supports_assistant_prefill') === true,
      systemMessages: flag('supports_mid_conversation_system') === true,
      outputSchema: flag('supports_native_structured_output') === true,
    }),
    prices: pricesOf(row),
  };
  return definedFields(correctedInfo(vendor, name.replace(dateEnd, ''), info));
}

function effortsOf(row: ListRow, reasons: boolean | undefined): readonly ModelEffort[] | undefined {
  const listed = row['reasoning_effort_levels'];
  if (Array.isArray(listed)) return modelEfforts.filter((effort) => listed.includes(effort));
  if (reasons === undefined) return undefined;
  if (!reasons) return [];
  const always = new Set<ModelEffort>(['low', 'medium', 'high']);
  return modelEfforts.filter(
    (effort) => row[`supports_${effort}_reasoning_effort`] ?? always.has(effort),
  );
}

/**
 * Returns the kinds of attachments that a model reads. Returns undefined if the row lists no kind of input.
 */
function inputsOf(row: ListRow, isComplete: boolean): readonly ModelInput[] | undefined {
  const listed = Array.isArray(row['supported_modalities']) ? row['supported_modalities'] : [];
  const fields: { readonly [Input in ModelInput]: string } = {
    image: 'supports_vision',
    pdf: 'supports_pdf_input',
    audio: 'supports_audio_input',
    video: 'supports_video_input',
  };
  const isNamed = listed.length > 0 || Object.values(fields).some((field) => field in row);
  if (!isNamed && !isComplete) return undefined;
  return modelInputs.filter((input) => row[fields[input]] === true || listed.includes(input));
}

const priceFields: { readonly [Name in keyof TokenPrices]-?: string } = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cacheRead: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  cacheWriteLong: 'cache_creation_input_token_cost_above_1hr',
  reasoning: 'output_cost_per_reasoning_token',
};

function pricesOf(row: ListRow): ModelPrices | undefined {
  const prices = tokenPrices(row, '');
  if (prices === undefined) return undefined;
  const limits = Object.keys(row).flatMap(
    (field) => /^input_cost_per_token_above_(\d+)k_tokens$/.exec(field)?.[1] ?? [],
  );
  const above = limits
    .map(Number)
    .sort((a, b) => a - b)
    .flatMap((thousands): readonly TierPrices[] => {
      const tier = tokenPrices(row, `_above_${thousands}k_tokens`);
      return tier === undefined ? [] : [{ inputTokens: thousands * 1000, ...tier }];
    });
  return above.length === 0 ? prices : { ...prices, above };
}

/**
 * Returns the prices of one tier. If the tier does not list a price, the price of the lowest tier applies.
 */
function tokenPrices(row: ListRow, suffix: string): TokenPrices | undefined {
  const price = (name: keyof TokenPrices) =>
    perMillion(row[`${priceFields[name]}${suffix}`] ?? row[priceFields[name]]);
  const [input, output] = [price('input'), price('output')];
  if (input === undefined || output === undefined) return undefined;
  const reasoning = price('reasoning');
  return definedFields({
    input,
    output,
    cacheRead: price('cacheRead'),
    cacheWrite: price('cacheWrite'),
    cacheWriteLong: price('cacheWriteLong'),
    reasoning: reasoning === output || suffix !== '' ? undefined : reasoning,
  });
}

/**
 * The number of digits to which prices are rounded. The list contains binary fractions, and no real price has
 * twelve digits.
 */
const priceDigits = 12;

/** Converts a price per token to an exact decimal price per million tokens. */
function perMillion(perToken: unknown): string | undefined {
  if (typeof perToken !== 'number' || !(perToken >= 0) || !Number.isFinite(perToken))
    return undefined;
  const [digits = '0', exponent = '0'] = perToken.toExponential(priceDigits).split('e');
  const shifted = Number(exponent) + 6;
  const all = digits.replace('.', '');
  const whole = shifted < 0 ? '0' : all.slice(0, shifted + 1).padEnd(shifted + 1, '0');
  const rest = shifted < 0 ? '0'.repeat(-shifted - 1) + all : all.slice(shifted + 1);
  const fraction = rest.replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function definedFields<Value extends object>(value: Value): Value {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields) as Value;
}

function isRecord(value: unknown): value is ListRow {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
