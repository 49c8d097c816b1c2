import { type Endpoint, unknownEndpoint } from '../wire/endpoint.ts';
import { openaiLongCacheModels } from './cache-retention.ts';

/** What differs from one server of this wire to the next. */
export interface ResponsesDialect extends Endpoint {
  /**
   * Reasoning that is not encrypted goes back too, before each call of several: what servers of open
   * models want, and OpenAI refuses.
   */
  readonly plainReasoning: boolean;
  /** Messages of the assistant must have ids. OpenAI wants none that it did not make itself. */
  readonly needsMessageIds: boolean;
  /** Models that can be asked to keep what they cache for long. */
  readonly longCacheModels: readonly string[];
}

const compatible: ResponsesDialect = {
  ...unknownEndpoint,
  id: 'compatible-responses',
  url: '{base}/responses',
  plainReasoning: false,
  needsMessageIds: true,
  longCacheModels: [],
};

const openai: ResponsesDialect = {
  ...compatible,
  id: 'openai-responses',
  baseUrl: 'https://api.openai.com/v1',
  keyVariables: ['OPENAI_API_KEY'],
  needsKey: true,
  needsMessageIds: false,
  longCacheModels: openaiLongCacheModels,
};

export type ResponsesPreset =
  | 'compatible'
  | 'openai'
  | 'azure'
  | 'openrouter'
  | 'xai'
  | 'lm-studio';

export const presets: { readonly [Preset in ResponsesPreset]: ResponsesDialect } = {
  compatible,
  openai,
  azure: {
    ...openai,
    longCacheModels: [],
    id: 'azure-responses',
    baseUrl: undefined,
    url: '{azure}/v1/responses?api-version={apiVersion}',
    apiVersion: 'v1',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    keyHeader: 'api-key',
  },
  openrouter: {
    ...compatible,
    needsKey: true,
    id: 'openrouter-responses',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
  },
  xai: {
    ...compatible,
    needsKey: true,
    id: 'xai-responses',
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
  },
  'lm-studio': {
    ...compatible,
    id: 'lm-studio-responses',
    baseUrl: 'http://127.0.0.1:1234/v1',
    plainReasoning: true,
  },
};
