import type { JsonObject } from '@millrace/core';
import type { ApiOptions } from '../wire/api-options.ts';

export interface AnthropicOptions extends ApiOptions {
  /** Instead of a key, for gateways: sent as a bearer. */
  readonly authToken?: string | undefined;
  /** Of the API. */
  readonly version?: string | undefined;
  /** Features that are not for everyone yet, by their names in the `anthropic-beta` header. */
  readonly betas?: readonly string[] | undefined;
  /** Of thinking and answer together, where the request does not say. */
  readonly maxTokens?: number | undefined;
  /** How the model is asked to think, where its name does not tell. */
  readonly thinking?: ModelTraits['thinking'] | undefined;
  /** How output that fits a schema is asked for, where the model's name does not tell. */
  readonly structuredOutput?: ModelTraits['structuredOutput'] | undefined;
  /** Tools that Anthropic runs, as its API has them: `{ type: 'web_search_20250305', … }`. */
  readonly hostedTools?: readonly JsonObject[] | undefined;
  /** Arguments come as they are written rather than value by value, and may turn out not to be JSON. */
  readonly eagerInputStreaming?: boolean | undefined;
}

/** What differs from model to model in how it is asked. */
export interface ModelTraits {
  /** By effort, by a budget of tokens, or not at all. */
  readonly thinking: 'adaptive' | 'budget' | 'none';
  /** Some think whatever they are told. */
  readonly canStopThinking: boolean;
  readonly takesTemperature: boolean;
  /** As text in the asked format, or as the input of a tool that it has to call. */
  readonly structuredOutput: 'format' | 'tool';
  /** Asked for where nobody says: no more than the model can write. */
  readonly maxTokens: number;
}

const withoutThinking: ModelTraits = {
  thinking: 'none',
  canStopThinking: true,
  takesTemperature: true,
  structuredOutput: 'tool',
  maxTokens: 4096,
};

const budgeted: ModelTraits = { ...withoutThinking, thinking: 'budget', maxTokens: 32_000 };

const adaptive: ModelTraits = {
  thinking: 'adaptive',
  canStopThinking: true,
  takesTemperature: false,
  structuredOutput: 'format',
  maxTokens: 64_000,
};

/** By the beginning of the name; the first that fits counts. */
const traitsByName: readonly (readonly [form: RegExp, traits: ModelTraits])[] = [
  [/^claude-(?:instant|v?2|3-(?:opus|sonnet|haiku))\b/, withoutThinking],
  [/^claude-3-5-/, { ...withoutThinking, maxTokens: 8192 }],
  [/^claude-3-7-/, budgeted],
  [/^claude-(?:opus|sonnet)-4(?:-0)?(?:[-@]\d{8}.*)?$/, budgeted],
  [/^claude-opus-4-1\b/, { ...budgeted, structuredOutput: 'format' }],
  [/^claude-[a-z]+-4-5\b/, { ...budgeted, structuredOutput: 'format', maxTokens: 64_000 }],
  [/^claude-[a-z]+-4-6\b/, { ...adaptive, takesTemperature: true }],
  [/^claude-(?:opus-4-[78]|(?:opus|sonnet)-5(?!-\d\b)|haiku-5(?:-5)?)\b/, adaptive],
  [/^claude-/, { ...adaptive, canStopThinking: false }],
];

/** Whoever else speaks this protocol mostly speaks it as it was. */
const otherVendors: ModelTraits = { ...budgeted, maxTokens: 16_384 };

/** Gateways put something before the name, and write 4.5 for 4-5. */
export function traitsOf(model: string): ModelTraits {
  const name = model
    .toLowerCase()
    .replaceAll('.', '-')
    .replace(/^.*?(?=claude-)/, '');
  return traitsByName.find(([form]) => form.test(name))?.[1] ?? otherVendors;
}
