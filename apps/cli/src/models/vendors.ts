import type { ProviderName } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';

/** A company that offers models. An API key is required. */
export interface Vendor {
  readonly name: ProviderName;
  /** The variables that may contain a key. The first variable that is set is used. */
  readonly keyVariables: readonly string[];
  /** The variable that may contain the server's address. */
  readonly addressVariable?: string | undefined;
  /** The page on which users create a key. */
  readonly keyPage: string;
  /**
   * Some models of the vendor. The first one is the default. Other model names are also accepted,
   * and are sent unchanged.
   */
  readonly models: readonly string[];
  /** Matches model names that only this vendor uses. */
  readonly namePattern?: RegExp | undefined;
}

/** The vendors, in the order in which their keys are checked. */
export const vendors: readonly Vendor[] = [
  {
    name: 'anthropic',
    keyVariables: ['ANTHROPIC_API_KEY'],
    addressVariable: 'ANTHROPIC_BASE_URL',
    keyPage: 'https://console.anthropic.com/settings/keys',
    models: ['claude-sonnet-5-5', 'claude-opus-5-5', 'claude-haiku-5-5'],
    namePattern: /^claude-/,
  },
  {
    name: 'openai',
    keyVariables: ['OPENAI_API_KEY'],
    addressVariable: 'OPENAI_BASE_URL',
    keyPage: 'https://platform.openai.com/api-keys',
    models: ['gpt-5.5', 'gpt-5.4', 'gpt-5.4-mini'],
    namePattern: /^(?:gpt-(?!oss)|o\d|codex-|chatgpt-)/,
  },
  {
    name: 'gemini',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    keyPage: 'https://aistudio.google.com/apikey',
    models: ['gemini-flash-latest', 'gemini-pro-latest', 'gemini-flash-lite-latest'],
    namePattern: /^gemini-/,
  },
  {
    name: 'openrouter',
    keyVariables: ['OPENROUTER_API_KEY'],
    keyPage: 'https://openrouter.ai/settings/keys',
    models: ['openrouter/auto', 'anthropic/claude-sonnet-5', 'openai/gpt-5.5'],
  },
  {
    name: 'groq',
    keyVariables: ['GROQ_API_KEY'],
    keyPage: 'https://console.groq.com/keys',
    models: ['openai/gpt-oss-120b', 'openai/gpt-oss-20b'],
  },
  {
    name: 'mistral',
    keyVariables: ['MISTRAL_API_KEY'],
    keyPage: 'https://console.mistral.ai/api-keys',
    models: ['mistral-medium-latest', 'mistral-large-latest', 'mistral-small-latest'],
    namePattern: /^(?:mistral|devstral|codestral|magistral|ministral)-/,
  },
  {
    name: 'deepseek',
    keyVariables: ['DEEPSEEK_API_KEY'],
    keyPage: 'https://platform.deepseek.com/api_keys',
    models: ['deepseek-v4-flash', 'deepseek-v4-pro'],
    namePattern: /^deepseek-/,
  },
  {
    name: 'xai',
    keyVariables: ['XAI_API_KEY'],
    keyPage: 'https://console.x.ai',
    models: ['grok-4.5', 'grok-4.3'],
    namePattern: /^grok-/,
  },
  {
    name: 'together',
    keyVariables: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY'],
    keyPage: 'https://api.together.ai/settings/api-keys',
    models: ['openai/gpt-oss-120b'],
  },
  {
    name: 'azure',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    addressVariable: 'AZURE_OPENAI_ENDPOINT',
    keyPage: 'https://portal.azure.com',
    // Each customer chooses the names of the models, so there is no list.
    models: [],
  },
  {
    name: 'bedrock',
    // AWS keys are for many services, so an AWS key alone does not select this vendor.
    keyVariables: ['AWS_BEARER_TOKEN_BEDROCK'],
    keyPage: 'https://console.aws.amazon.com/bedrock',
    // Model names differ between regions, so there is no list.
    models: [],
  },
];

/** Returns the first variable that is set. An empty variable counts as not set. */
export function firstSetVariable(env: Env, names: readonly string[]): SetVariable | undefined {
  for (const name of names) {
    const value = env[name]?.trim();
    if (value) return { name, value };
  }
  return undefined;
}

/** Returns true if the environment has a key of a vendor whose models are known. */
export function hasVendorKey(env: Env): boolean {
  return vendors.some(
    ({ keyVariables, models }) =>
      models.length > 0 && firstSetVariable(env, keyVariables) !== undefined,
  );
}

interface SetVariable {
  readonly name: string;
  readonly value: string;
}
