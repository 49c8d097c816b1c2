import type { ModelEffort, ModelInfo } from '../contract/model-info.ts';
import type { ModelRows } from './model-table.ts';

/**
 * Facts that the list of models does not contain. They apply to the models of a vendor whose names match the
 * pattern. The patterns are used only when the list is converted. Providers read the finished table.
 */
type Correction = readonly [vendor: string, name: RegExp, facts: ModelInfo];

const levels: readonly ModelEffort[] = ['low', 'medium', 'high'];

const thirdGemini: ModelInfo = {
  efforts: levels,
  thinking: 'effort',
  outputWithTools: true,
  signedCalls: true,
  mediaInResults: true,
};

/**
 * The corrections, in the order in which they are applied. A later correction replaces fields of an earlier
 * one.
 */
const corrections: readonly Correction[] = [
  [
    'openai',
    /-chat(?:-latest)?$|search/,
    { reasons: false, efforts: [], defaultEffort: undefined },
  ],
  ['openai', /search/, { sampling: 'never' }],
  ['openai', /deep-research/, { efforts: ['medium'] }],
  ['openai', /^gpt-5-pro/, { efforts: ['high'] }],
  ['openai', /^gpt-5\.\d-pro/, { efforts: ['medium', 'high', 'xhigh'] }],
  [
    'openai',
    /^gpt-(?:4\.1|5(?:-codex)?|5\.1(?:-chat-latest|-codex(?:-max|-mini)?)?|5\.[245]|5\.5-pro)$/,
    { longCache: true },
  ],
  // All models of xAI reason, but the models that match this pattern do not accept an effort.
  ['xai', /^grok-(?:code|build|4\.20(?!-multi))/, { efforts: [] }],
  ['gemini', /./, { outputWithTools: false, efforts: [] }],
  // Matches models from generation 3 on, and aliases for them such as `gemini-flash-latest`.
  ['gemini', /^gemini-(?!gemma|exp|[12]\b)/, thirdGemini],
  ['gemini', /^gemini-3-pro/, { efforts: ['low', 'high'] }],
  [
    'gemini',
    /^gemini-3(?:\.[0-6])?-flash|flash-lite(?!-latest)/,
    { efforts: ['minimal', ...levels] },
  ],
  ['gemini', /^gemini-2\.5-/, { thinking: 'budget', thinkingBudget: [0, 24_576] }],
  ['gemini', /^gemini-2\.5-pro/, { thinkingBudget: [128, 32_768] }],
  ['gemini', /^gemini-2\.5-/, { efforts: levels }],
  ['gemini', /tts|image/, { efforts: [], thinking: undefined, thinkingBudget: undefined }],
];

/** Adds the data that the list does not contain to the row of a model. */
export function correctedInfo(vendor: string, name: string, listed: ModelInfo): ModelInfo {
  const facts = corrections.filter(([owner, form]) => owner === vendor && form.test(name));
  const info: ModelInfo = Object.assign({}, listed, ...facts.map(([, , fact]) => fact));
  return vendor === 'openai' ? { ...info, sampling: info.sampling ?? openaiSampling(info) } : info;
}

/** Returns when an OpenAI model accepts a temperature. It rejects a temperature while it reasons. */
function openaiSampling({ reasons, efforts = [] }: ModelInfo): ModelInfo['sampling'] {
  if (reasons !== true) return 'always';
  return efforts.includes('none') ? 'without_reasoning' : 'never';
}

const withoutThinking: ModelInfo = {
  reasons: false,
  efforts: [],
  inputs: ['image'],
  prefill: true,
  outputSchema: false,
  maxOutputTokens: 4096,
};

const budgeted: ModelInfo = {
  contextTokens: 200_000,
  maxOutputTokens: 32_000,
  inputs: ['image', 'pdf'],
  reasons: true,
  thinking: 'budget',
  prefill: true,
  outputSchema: false,
};

const reasoningOpenAi: ModelInfo = { reasons: true, efforts: levels, sampling: 'never' };
const plainOpenAi: ModelInfo = { reasons: false, efforts: [], sampling: 'always' };
const allInputs = ['image', 'pdf', 'audio', 'video'] as const;
const futureGemini: ModelInfo = { ...thirdGemini, inputs: allInputs, reasons: true };

/**
 * Models that the list does not contain: retired models, which gateways still offer, and future models.
 * Future models get the data that the newest models of their vendor have in common.
 */
export const knownFamilies: ModelRows = {
  'anthropic/claude-*': {
    maxOutputTokens: 64_000,
    inputs: ['image', 'pdf'],
    reasons: true,
    efforts: levels,
    thinking: 'effort',
    alwaysThinks: true,
    sampling: 'never',
    prefill: false,
    outputSchema: true,
  },
  'anthropic/claude-instant*': withoutThinking,
  'anthropic/claude-2*': withoutThinking,
  'anthropic/claude-v2*': withoutThinking,
  'anthropic/claude-3-*': withoutThinking,
  'anthropic/claude-3-5-*': { ...withoutThinking, inputs: ['image', 'pdf'], maxOutputTokens: 8192 },
  'anthropic/claude-3-7-*': budgeted,
  'anthropic/claude-opus-4': budgeted,
  'anthropic/claude-opus-4-0': budgeted,
  'anthropic/claude-opus-4-1': { ...budgeted, outputSchema: true },
  'anthropic/claude-sonnet-4': budgeted,
  'anthropic/claude-sonnet-4-0': budgeted,
  'openai/gpt-*': {
    ...reasoningOpenAi,
    efforts: ['none', ...levels],
    sampling: 'without_reasoning',
  },
  'openai/gpt-3*': plainOpenAi,
  'openai/gpt-4*': plainOpenAi,
  'openai/gpt-4o-audio*': { ...plainOpenAi, inputs: ['audio'] },
  'openai/gpt-4o-mini-audio*': { ...plainOpenAi, inputs: ['audio'] },
  'openai/chatgpt*': plainOpenAi,
  'openai/o1*': reasoningOpenAi,
  'openai/o3*': reasoningOpenAi,
  'openai/o4*': reasoningOpenAi,
  'gemini/gemini-*': futureGemini,
  'gemini/gemini-3-pro*': { ...futureGemini, efforts: ['low', 'high'] },
  'gemini/gemini-3-flash*': { ...futureGemini, efforts: ['minimal', ...levels] },
  'gemini/gemini-2.5-*': {
    ...{ inputs: allInputs, reasons: true, efforts: levels, outputWithTools: false },
    ...{ thinking: 'budget', thinkingBudget: [0, 24_576] },
  },
  'gemini/gemini-2*': { inputs: allInputs, reasons: false, efforts: [], outputWithTools: false },
  'gemini/gemini-1*': { inputs: allInputs, reasons: false, efforts: [], outputWithTools: false },
};
