import type { JsonObject } from '@millrace/core';
import type { ReasoningEffort } from '../contract/model-request.ts';
import type { Turn } from './messages.ts';
import type { ModelTraits } from './model-traits.ts';

export interface ThinkingFields {
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

const efforts = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'max' } as const;

const budgets = { minimal: 1024, low: 4096, medium: 10_000, high: 20_000, max: 32_000 } as const;

/** The API takes no smaller budget. */
const minBudget = 1024;

/** So much of all that may be written, so that there is room for an answer. */
const maxShare = 0.75;

/** How a model is told to think as hard as was asked. */
export function thinkingFields(
  effort: ReasoningEffort | undefined,
  { thinking, canStopThinking }: ModelTraits,
  maxTokens: number,
): ThinkingFields {
  if (effort === undefined || thinking === 'none') return {};
  if (effort === 'none') {
    return canStopThinking ? { thinking: { type: 'disabled' } } : { effort: 'low' };
  }
  if (thinking === 'adaptive') {
    // Newer models show nothing of it unless they are asked to.
    return { thinking: { type: 'adaptive', display: 'summarized' }, effort: efforts[effort] };
  }
  const budget = Math.min(budgets[effort], Math.floor(maxTokens * maxShare));
  return budget < minBudget ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** How it is told not to think, because a tool is forced: some think unless they are told. */
export function forcedFields(
  effort: ReasoningEffort | undefined,
  { thinking, canStopThinking }: ModelTraits,
): ThinkingFields {
  if (thinking !== 'adaptive') return {};
  // The highest effort is refused where nothing is thought.
  const most = effort === 'max' ? 'high' : effort;
  return {
    ...(canStopThinking ? { thinking: { type: 'disabled' } } : {}),
    ...(most === undefined || most === 'none' ? {} : { effort: efforts[most] }),
  };
}

/**
 * With a budget, the turn that goes on must have begun with thinking. It has none where another model
 * began it, or where its thinking was never signed.
 */
export function mayThinkOn(turns: readonly Turn[]): boolean {
  const asked = turns.findLastIndex(
    ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
  );
  const [first] = turns[asked + 1]?.content ?? [];
  return first === undefined || ['thinking', 'redacted_thinking'].includes(String(first['type']));
}
