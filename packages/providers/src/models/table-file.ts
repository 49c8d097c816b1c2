import { type ErrorPlace, isDecimal, MillraceError } from '@millrace/core';
import { type ModelInfo, modelEfforts, modelInputs } from '../contract/model-info.ts';
import { rowsFromLiteLlm } from './from-litellm.ts';
import type { ModelRows } from './model-table.ts';

/** Thrown if a file or setting with data about models is invalid. */
export class ModelTableError extends MillraceError<'bad_model_table'> {
  constructor(message: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    super('bad_model_table', message, place, options);
  }
}

const format = 'millrace-models-1';

/** Maximum length of a table's text, in UTF-16 units. LiteLLM's list has 3 million units. */
const maxTextLength = 32 * 1024 * 1024;

/**
 * Reads the text of a file with models. The file is the output of `writeModelTable`, or LiteLLM's
 * `model_prices_and_context_window.json`. Throws a `ModelTableError` that contains the model and the field.
 */
export function readModelTable(text: string): ModelRows {
  if (text.length > maxTextLength) throw new ModelTableError('The table of models is too long');
  const content = parsed(text);
  if (!isRecord(content)) throw new ModelTableError('The table of models is no JSON object');
  if (content['format'] === undefined) return convertedRows(content);
  if (content['format'] !== format) {
    const found = JSON.stringify(content['format']);
    throw new ModelTableError(`The table of models has the format ${found}, not ${format}`);
  }
  return checkModelRows(content['models']);
}

/** Returns rows as the text of a file that `readModelTable` can read. */
export function writeModelTable(rows: ModelRows): string {
  const lines = Object.entries(rows).map(
    ([key, info]) => `${JSON.stringify(key)}: ${JSON.stringify(info)}`,
  );
  return `{ "format": "${format}", "models": {\n${lines.join(',\n')}\n} }\n`;
}

/** Returns the value as rows. Throws a `ModelTableError` if the value has a different form. */
function checkModelRows(value: unknown): ModelRows {
  if (!isRecord(value)) throw new ModelTableError('"models" must be an object: { "name": { … } }');
  for (const [model, info] of Object.entries(value)) checkInfo(model, info);
  return value as ModelRows;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable('The table of models is not JSON', error);
  }
}

function convertedRows(list: unknown): ModelRows {
  try {
    return rowsFromLiteLlm(list);
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    throw unreadable(`${found}. Use LiteLLM's list, or a file of the format ${format}`, error);
  }
}

function unreadable(message: string, cause: unknown): ModelTableError {
  return new ModelTableError(message, {}, { cause });
}

type Check = (value: unknown) => boolean;

const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) > 0;
const isFlag: Check = (value) => typeof value === 'boolean';
const isText: Check = (value) => typeof value === 'string' && value !== '';
const isPrice: Check = (value) =>
  typeof value === 'string' && isDecimal(value) && !value.startsWith('-');
const oneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

const infoChecks: { readonly [Field in keyof ModelInfo]-?: Check } = {
  contextTokens: isCount,
  maxOutputTokens: isCount,
  inputs: listOf(oneOf(...modelInputs)),
  reasons: isFlag,
  efforts: listOf(oneOf(...modelEfforts)),
  defaultEffort: oneOf(...modelEfforts),
  thinking: oneOf('effort', 'budget'),
  thinkingBudget: (value) =>
    listOf((one) => Number.isSafeInteger(one) && Number(one) >= 0)(value) &&
    (value as readonly number[]).length === 2,
  alwaysThinks: isFlag,
  sampling: oneOf('always', 'without_reasoning', 'never'),
  prefill: isFlag,
  systemMessages: isFlag,
  forcedTools: isFlag,
  outputSchema: isFlag,
  outputWithTools: isFlag,
  signedCalls: isFlag,
  mediaInResults: isFlag,
  longCache: isFlag,
  prices: (value) => value === 'reported' || hasOnly(priceChecks, ['input', 'output'])(value),
};

const tokenPriceChecks: Readonly<Record<string, Check>> = {
  input: isPrice,
  output: isPrice,
  cacheRead: isPrice,
  cacheWrite: isPrice,
  cacheWriteLong: isPrice,
  reasoning: isPrice,
};

const tierChecks = { ...tokenPriceChecks, inputTokens: isCount };

const priceChecks: Readonly<Record<string, Check>> = {
  ...tokenPriceChecks,
  currency: isText,
  above: listOf((tier) => hasOnly(tierChecks, ['inputTokens', 'input', 'output'])(tier)),
};

function hasOnly(checks: Readonly<Record<string, Check>>, required: readonly string[]): Check {
  return (value) =>
    isRecord(value) &&
    required.every((field) => field in value) &&
    Object.entries(value).every(
      ([field, own]) => own === undefined || (Object.hasOwn(checks, field) && checks[field]?.(own)),
    );
}

/** Throws if a field is unknown or has an invalid value. */
function checkInfo(model: string, info: unknown): void {
  if (!isRecord(info)) throw new ModelTableError(`The model ${model} is no object`, { model });
  for (const [field, value] of Object.entries(info)) {
    const check = Object.hasOwn(infoChecks, field)
      ? infoChecks[field as keyof ModelInfo]
      : undefined;
    if (check === undefined) {
      const known = Object.keys(infoChecks).join(', ');
      const message = `The model ${model} has the unknown field ${field}. Use one of ${known}`;
      throw new ModelTableError(message, { model, field });
    }
    if (value !== undefined && !check(value)) {
      const shown = JSON.stringify(value);
      throw new ModelTableError(`The model ${model} cannot have ${field} ${shown}`, {
        model,
        field,
      });
    }
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
