import { type Item, itemId, type JsonValue, type Part } from '@millrace/core';
import { isFull } from '../../../../core/src/testing/runs.ts';
import type { AnthropicOptions } from '../../anthropic/options.ts';
import { anthropic } from '../../anthropic/provider.ts';
import type { ModelRequest } from '../../contract/model-request.ts';
import type { Provider } from '../../contract/provider.ts';
import { gemini, vertex } from '../../gemini/provider.ts';
import type { ChatPreset } from '../../openai-chat/options.ts';
import { presets as chatPresets } from '../../openai-chat/presets.ts';
import { openaiChat } from '../../openai-chat/provider.ts';
import type { ResponsesOptions, ResponsesPreset } from '../../openai-responses/options.ts';
import { presets as responsesPresets } from '../../openai-responses/presets.ts';
import { openaiResponses } from '../../openai-responses/provider.ts';
import type { WireName } from '../../scripted-server/answers/wire-answer.ts';

/** A provider whose requests are checked. */
export interface Target {
  readonly name: string;
  readonly wire: WireName;
  readonly model: string;
  readonly provider: (fetcher: typeof fetch) => Provider;
}

const apiKey = 'key-of-nobody';

const anthropicTarget = (model: string, options: Partial<AnthropicOptions> = {}): Target => ({
  name: `${model} ${JSON.stringify(options)}`,
  wire: 'anthropic',
  model,
  provider: (fetcher) => anthropic({ model, apiKey, fetch: fetcher, ...options }),
});

const geminiTarget = (model: string): Target => ({
  name: model,
  wire: 'gemini',
  model,
  provider: (fetcher) => gemini({ model, apiKey, fetch: fetcher }),
});

const vertexTarget = (model: string): Target => ({
  name: `${model} on Vertex AI`,
  wire: 'gemini',
  model,
  provider: (fetcher) =>
    vertex({
      ...{ model, project: 'p', location: 'global', accessToken: 'token-of-nobody' },
      ...{ fetch: fetcher, streamFunctionCallArguments: true },
    }),
});

const chatTarget = (preset: ChatPreset): Target => ({
  name: `${preset} by Chat Completions`,
  wire: 'openai-chat',
  model: 'm',
  provider: (fetcher) =>
    openaiChat({ model: 'm', preset, apiKey, fetch: fetcher, baseUrl: 'https://example.com/v1' }),
});

const claudeByChat: Target = {
  name: 'Claude at OpenRouter',
  wire: 'openai-chat',
  model: 'anthropic/claude-sonnet-4.6',
  provider: (fetcher) =>
    openaiChat({
      ...{ model: 'anthropic/claude-sonnet-4.6', preset: 'openrouter', apiKey, fetch: fetcher },
      baseUrl: 'https://example.com/v1',
    }),
};

const qwen: Target = {
  name: 'a server of Qwen',
  wire: 'openai-chat',
  model: 'm',
  provider: (fetcher) =>
    openaiChat({
      ...{ model: 'm', apiKey, fetch: fetcher, baseUrl: 'https://example.com/v1' },
      dialect: { reasoningEffort: 'enable_thinking', needsMessageAfterToolResults: true },
    }),
};

const responsesTarget = (
  preset: ResponsesPreset,
  options: Partial<ResponsesOptions> = {},
): Target => ({
  name: `${preset} by Responses ${JSON.stringify(options)}`,
  wire: 'openai-responses',
  model: options.model ?? 'm',
  provider: (fetcher) =>
    openaiResponses({
      ...{ model: 'm', preset, apiKey, fetch: fetcher, baseUrl: 'https://example.com/v1' },
      ...options,
    }),
});

const webSearch = { type: 'web_search_20260318', name: 'web_search', max_uses: 3 } as const;
const bash = { type: 'bash_20250124', name: 'bash' } as const;

/** Presets whose requests all differ from each other. `npm run test:full` checks all presets. */
const unlikeChatPresets: readonly ChatPreset[] = [
  'openai',
  'openrouter',
  'mistral',
  'deepseek',
  'vllm',
];
const unlikeResponsesPresets: readonly ResponsesPreset[] = ['openai', 'xai', 'lm-studio'];

/** Every wire, with models and options that change its requests. */
export const targets: readonly Target[] = [
  ...[
    'claude-3-5-haiku-latest',
    'claude-3-7-sonnet-latest',
    'claude-sonnet-4-5',
    'claude-sonnet-4-6',
  ].map((model) => anthropicTarget(model)),
  ...['claude-opus-4-8', 'claude-opus-5'].map((model) => anthropicTarget(model)),
  anthropicTarget('claude-sonnet-4-5', {
    extraTools: [webSearch, bash],
    eagerInputStreaming: true,
  }),
  anthropicTarget('claude-sonnet-4-6', {
    structuredOutput: 'tool',
    betas: ['context-1m-2025-08-07'],
  }),
  ...['gemini-2.0-flash', 'gemini-2.5-pro', 'gemini-3-pro-preview', 'gemini-3.5-flash'].map(
    geminiTarget,
  ),
  vertexTarget('gemini-3-pro-preview'),
  ...(isFull ? (Object.keys(chatPresets) as ChatPreset[]) : unlikeChatPresets).map(chatTarget),
  claudeByChat,
  qwen,
  ...(isFull ? (Object.keys(responsesPresets) as ResponsesPreset[]) : unlikeResponsesPresets).map(
    (preset) => responsesTarget(preset),
  ),
  responsesTarget('openai', {
    ...{ model: 'gpt-5.4', reasoningSummary: 'detailed', parallelToolCalls: false },
    extraTools: [
      { type: 'web_search' },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'custom', name: 'sql', description: 'Runs a query' },
    ],
  }),
  responsesTarget('openai', { model: 'gpt-4.1', store: true }),
];

/**
 * Returns the next request after an answer of the same provider, with the data that the provider
 * needs back.
 */
export function replayOf({ wire, model, provider }: Target): ModelRequest {
  const owner = { provider: provider(fetch).id, model };
  const parts = replayed[wire].map(
    ({ data, ...part }) => ({ ...part, providerState: { ...owner, data } }) as Part,
  );
  const [question, next] = ['u1', 'u2'].map((id) => ({ ...hello, id: itemId(id) }));
  const answer: Item = { id: itemId('a'), kind: 'assistant', parts };
  return { items: [question ?? hello, answer, next ?? hello] };
}

const hello: Item = { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Hello' }] };

type Replayed = Record<string, unknown> & { readonly data: JsonValue };

const thought = { kind: 'reasoning', form: 'full', text: 'Hm.' };
const said = { kind: 'text', text: 'At six.' };

/** Parts of an answer, each with the data that the wire stored. */
const replayed: Readonly<Record<WireName, readonly Replayed[]>> = {
  anthropic: [
    { ...thought, data: { signature: 'c2ln' } },
    { ...thought, form: 'redacted', text: '', data: { data: 'ZGF0YQ==' } },
    { ...said, data: {} },
  ],
  gemini: [
    { ...thought, data: {} },
    { ...said, data: { thoughtSignature: 'c2ln' } },
  ],
  'openai-chat': [
    { ...thought, data: { field: 'reasoning_text' } },
    { ...said, data: {} },
  ],
  'openai-responses': [
    {
      ...thought,
      data: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'c2VjcmV0' },
    },
    {
      kind: 'custom',
      name: 'web_search_call',
      // The value has the form that xAI sends.
      value: {
        ...{ type: 'web_search_call', id: 'ws_1', status: 'completed' },
        ...{ name: 'web_search', arguments: '{"query":"tides"}', call_id: 'call_1' },
      },
      data: {},
    },
    { ...said, data: { id: 'msg_1', phase: 'final_answer' } },
  ],
};
