import { unknownEndpoint } from '../wire/endpoint.ts';
import type { ResponsesDialect, ResponsesPreset } from './options.ts';

/** OpenAI's models that can keep cached prompts for a day. Other models reject the field. */
const openaiLongCacheModels: readonly string[] = [
  'gpt-4.1',
  'gpt-5',
  'gpt-5-codex',
  'gpt-5.1',
  'gpt-5.1-chat-latest',
  'gpt-5.1-codex',
  'gpt-5.1-codex-max',
  'gpt-5.1-codex-mini',
  'gpt-5.2',
  'gpt-5.4',
  'gpt-5.5',
  'gpt-5.5-pro',
];

const compatible: ResponsesDialect = {
  ...unknownEndpoint,
  id: 'compatible-responses',
  url: '{base}/responses',
  filesUrl: '{base}/files',
  plainReasoning: false,
  needsMessageIds: true,
  builtInTools: false,
  runsCustomCalls: false,
  hasPromptCacheKey: false,
  reportsCut: false,
  countsTokens: true,
  longCacheModels: [],
};

const openai: ResponsesDialect = {
  ...compatible,
  id: 'openai-responses',
  baseUrl: 'https://api.openai.com/v1',
  keyVariables: ['OPENAI_API_KEY'],
  needsKey: true,
  needsMessageIds: false,
  builtInTools: true,
  hasPromptCacheKey: true,
  reportsCut: true,
  longCacheModels: openaiLongCacheModels,
};

export const presets: { readonly [Preset in ResponsesPreset]: ResponsesDialect } = {
  compatible,
  openai,
  azure: {
    ...openai,
    countsTokens: false,
    longCacheModels: [],
    id: 'azure-responses',
    baseUrl: undefined,
    url: '{azure}/v1/responses?api-version={apiVersion}',
    filesUrl: '{azure}/v1/files?api-version={apiVersion}',
    apiVersion: 'v1',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    keyHeader: 'api-key',
  },
  openrouter: {
    ...compatible,
    needsKey: true,
    reportsCut: true,
    countsTokens: false,
    id: 'openrouter-responses',
    filesUrl: undefined,
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    hasPromptCacheKey: true,
  },
  xai: {
    ...compatible,
    needsKey: true,
    reportsCut: true,
    countsTokens: false,
    id: 'xai-responses',
    filesUrl: '{base}/files',
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
    runsCustomCalls: true,
    hasPromptCacheKey: true,
  },
  'lm-studio': {
    ...compatible,
    id: 'lm-studio-responses',
    baseUrl: 'http://127.0.0.1:1234/v1',
    filesUrl: undefined,
    plainReasoning: true,
  },
};

/** Compares the name, with or without the date of a snapshot. */
export function isLongCacheModel(models: readonly string[], model: string): boolean {
  return models.includes(model.replace(/-\d{4}-\d{2}-\d{2}$/, ''));
}
