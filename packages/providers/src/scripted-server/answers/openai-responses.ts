import type { JsonObject } from '@millrace/core';
import { type AnswerPlan, scriptedTime } from './answer-plan.ts';
import { failureEvent } from './failure-body.ts';
import { type OutputItem, outputItems } from './openai-responses-items.ts';
import { stopWord } from './stop-word.ts';
import type { WireFailure, WireUsage } from './wire-answer.ts';

/** A response: created, its output items one after the other, and its end; numbered throughout. */
export function openaiResponsesEvents(plan: AnswerPlan): readonly JsonObject[] {
  const word = stopWord('openai-responses', plan.stop);
  const items = outputItems(plan, word === 'completed' ? 'completed' : 'incomplete');
  const begun = responseOf(plan, { status: 'in_progress' });
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap((item, index) => itemEvents(item, plan, index === items.length - 1)),
  ];
  const all = plan.failure
    ? [...events, ...broken(plan, plan.failure, events.length)]
    : [...events, ended(plan, items, word)];
  return all.map((event, index) => ({ ...event, sequence_number: index }));
}

function itemEvents(
  { opening, closing }: OutputItem,
  { failure }: AnswerPlan,
  isLast: boolean,
): readonly JsonObject[] {
  return failure && isLast ? opening : [...opening, ...closing];
}

function ended(plan: AnswerPlan, items: readonly OutputItem[], word: string): JsonObject {
  const isComplete = word === 'completed';
  const status = isComplete ? 'completed' : 'incomplete';
  const response = responseOf(plan, {
    status,
    ...(!isComplete && { incomplete_details: { reason: word } }),
    output: items.map(({ item }) => item),
    usage: usageOf(plan.usage),
  });
  return { type: `response.${status}`, response };
}

/** One failure is told twice. */
function broken(plan: AnswerPlan, failure: WireFailure, count: number): readonly JsonObject[] {
  const { type, message, code = type } = failure;
  const response = responseOf(plan, { status: 'failed', error: { code, message } });
  return [failureEvent('openai-responses', failure, count), { type: 'response.failed', response }];
}

function responseOf({ id, model }: AnswerPlan, fields: JsonObject): JsonObject {
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: scriptedTime,
    model,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
    ...fields,
  };
}

function usageOf(usage: WireUsage = { input: 0, output: 0 }): JsonObject {
  const { input, output, cacheRead = 0, reasoning = 0 } = usage;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
