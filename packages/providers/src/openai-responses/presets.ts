import { unknownEndpoint } from '../wire/endpoint.ts';
import type { ResponsesDialect, ResponsesPreset } from './options.ts';

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
  longCache: false,
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
  longCache: true,
};

export const presets: { readonly [Preset in ResponsesPreset]: ResponsesDialect } = {
  compatible,
  openai,
  azure: {
    ...openai,
    countsTokens: false,
    longCache: false,
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
