import type { ModelInfo, ModelInput } from '../contract/model-info.ts';
import { defaultIdRule } from '../history/tool-call-ids.ts';
import { unknownEndpoint } from '../wire/endpoint.ts';
import type { ChatDialect, ChatPreset } from './options.ts';

/**
 * The URL of the files API. Only some presets have it, because most servers use their files API for different
 * purposes.
 */
const filesUrl = '{base}/files';

/** The settings that most servers accept. They are used for unknown servers. */
const compatible: ChatDialect = {
  ...unknownEndpoint,
  id: 'openai-compatible',
  url: '{base}/chat/completions',
  asksForUsage: true,
  maxTokensField: 'max_tokens',
  hasDeveloperRole: false,
  reasoningEffort: 'effort',
  echoReasoning: 'field',
  ids: defaultIdRule,
  emptyContent: null,
  namesToolResults: false,
  needsMessageAfterToolResults: false,
  needsToolsWithCalls: false,
  strictTools: false,
  outputFormat: 'json_schema',
  cacheKeyField: 'none',
  cacheControlModels: [],
  attachmentTypes: ['image', 'pdf', 'audio'],
};

const openai: ChatDialect = {
  ...compatible,
  id: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  filesUrl,
  keyVariables: ['OPENAI_API_KEY'],
  needsKey: true,
  maxTokensField: 'max_completion_tokens',
  hasDeveloperRole: true,
  echoReasoning: 'none',
  strictTools: true,
  cacheKeyField: 'prompt_cache_key',
};

/**
 * Texts that identify Claude in the model names of gateways, such as `anthropic/claude-…` and
 * `bedrock/…claude…`.
 */
const claudeModels: readonly string[] = ['claude'];

/**
 * The settings for servers that users run themselves. These servers need no key. They expect an empty text
 * where other servers expect null.
 */
const local: ChatDialect = { ...compatible, emptyContent: '', attachmentTypes: ['image'] };

export const presets: { readonly [Preset in ChatPreset]: ChatDialect } = {
  compatible: { ...compatible, filesUrl },
  openai,
  openrouter: {
    ...compatible,
    id: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariables: ['OPENROUTER_API_KEY'],
    needsKey: true,
    reasoningEffort: 'reasoning_object',
    echoReasoning: 'details',
    reportsCost: true,
    cacheKeyField: 'session_id',
    cacheControlModels: claudeModels,
  },
  azure: {
    ...openai,
    id: 'azure',
    baseUrl: undefined,
    url: '{azure}/deployments/{model}/chat/completions?api-version={apiVersion}',
    filesUrl: '{azure}/files?api-version={apiVersion}',
    apiVersion: '2025-04-01-preview',
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    keyHeader: 'api-key',
  },
  groq: {
    ...compatible,
    id: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariables: ['GROQ_API_KEY'],
    needsKey: true,
    asksForUsage: false,
    maxTokensField: 'max_completion_tokens',
    attachmentTypes: ['image'],
  },
  mistral: {
    ...compatible,
    id: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariables: ['MISTRAL_API_KEY'],
    needsKey: true,
    asksForUsage: false,
    ids: { form: /^[A-Za-z0-9]{9}$/, length: 9 },
    emptyContent: '',
    namesToolResults: true,
    echoReasoning: 'none',
    attachmentTypes: ['image'],
  },
  deepseek: {
    ...compatible,
    id: 'deepseek',
    baseUrl: 'https://api.deepseek.com',
    keyVariables: ['DEEPSEEK_API_KEY'],
    needsKey: true,
    reasoningEffort: 'thinking_type',
    echoReasoning: 'field_always',
    emptyContent: '',
    outputFormat: 'json_object',
    attachmentTypes: ['image'],
  },
  xai: {
    ...compatible,
    id: 'xai',
    baseUrl: 'https://api.x.ai/v1',
    keyVariables: ['XAI_API_KEY'],
    needsKey: true,
    maxTokensField: 'max_completion_tokens',
    echoReasoning: 'none',
    attachmentTypes: ['image'],
  },
  together: {
    ...compatible,
    id: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    keyVariables: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY'],
    needsKey: true,
    attachmentTypes: ['image'],
  },
  ollama: {
    ...local,
    id: 'ollama',
    baseUrl: 'http://127.0.0.1:11434/v1',
    reasoningEffort: 'ollama',
    windowServer: 'ollama',
    cutsRequests: true,
  },
  vllm: {
    ...local,
    id: 'vllm',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyVariables: ['VLLM_API_KEY'],
    countsTokens: 'tokenize',
    windowServer: 'vllm',
    attachmentTypes: ['image', 'audio'],
  },
  'llama.cpp': {
    ...local,
    id: 'llama.cpp',
    baseUrl: 'http://127.0.0.1:8080/v1',
    keyVariables: ['LLAMA_API_KEY'],
    countsTokens: 'input_tokens',
    windowServer: 'llama.cpp',
    attachmentTypes: ['image', 'audio'],
  },
  'lm-studio': {
    ...local,
    id: 'lm-studio',
    baseUrl: 'http://127.0.0.1:1234/v1',
    windowServer: 'lm-studio',
  },
  litellm: {
    ...compatible,
    id: 'litellm',
    baseUrl: 'http://127.0.0.1:4000/v1',
    keyVariables: ['LITELLM_API_KEY'],
    needsToolsWithCalls: true,
    cacheControlModels: claudeModels,
  },
};

/**
 * The kinds of attachments for a model that is not in the table. Most models read images. Servers reject
 * audio for most models.
 */
const usualInputs: readonly ModelInput[] = ['image', 'pdf'];

/**
 * Removes the attachment types that the model cannot read from the dialect of a preset. If the caller's own
 * dialect lists attachment types, it changes nothing.
 */
export function dialectForModel(
  dialect: ChatDialect,
  given: Partial<ChatDialect> | undefined,
  { inputs = usualInputs }: ModelInfo,
): ChatDialect {
  if (given?.attachmentTypes !== undefined) return dialect;
  const attachmentTypes = dialect.attachmentTypes.filter((type) => inputs.includes(type));
  return { ...dialect, attachmentTypes };
}
