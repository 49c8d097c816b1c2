import type { JsonObject } from '@millrace/core';
import { type AnswerPlan, type PlannedCall, scriptedTime } from './answer-plan.ts';
import { failureEvent, wireStopReason } from './stops-and-failures.ts';
import type { WireUsage } from './wire-answer.ts';

/**
 * Returns the chunks of a chat completion: the role, deltas, the finish reason, and the usage in a
 * chunk without choices.
 */
export function openaiChatEvents(plan: AnswerPlan): readonly JsonObject[] {
  const textField = plan.stop === 'refusal' ? 'refusal' : 'content';
  const deltas: readonly JsonObject[] = [
    { role: 'assistant', content: plan.text.length > 0 ? '' : null, refusal: null },
    ...plan.reasoning.map((piece) => ({ reasoning_content: piece })),
    ...plan.text.map((piece) => ({ [textField]: piece })),
    ...plan.toolCalls.flatMap((call, index) => callDeltas(plan, call, index)),
  ];
  return [...deltas.map((delta) => chunk(plan, [choice(delta, null)])), ...ending(plan)];
}

function callDeltas(plan: AnswerPlan, call: PlannedCall, index: number): readonly JsonObject[] {
  const start: JsonObject = {
    index,
    id: call.givenId ?? `call_${plan.id}_${index + 1}`,
    type: 'function',
    function: { name: call.name, arguments: '' },
  };
  const rest = call.pieces.map((piece) => ({ index, function: { arguments: piece } }));
  return [start, ...rest].map((entry) => ({ tool_calls: [entry] }));
}

function ending(plan: AnswerPlan): readonly JsonObject[] {
  if (plan.failure) return [failureEvent('openai-chat', plan.failure, 0)];
  const finish = chunk(plan, [choice({}, wireStopReason('openai-chat', plan.stop))]);
  if (plan.usage === undefined) return [finish];
  return [finish, { ...chunk(plan, []), usage: usageOf(plan.usage) }];
}

function choice(delta: JsonObject, finishReason: string | null): JsonObject {
  return { index: 0, delta, logprobs: null, finish_reason: finishReason };
}

function chunk(plan: AnswerPlan, choices: readonly JsonObject[]): JsonObject {
  return {
    id: `chatcmpl-${plan.id}`,
    object: 'chat.completion.chunk',
    created: scriptedTime,
    model: plan.model,
    choices,
    // If a request asks for usage, every chunk has this field.
    ...(plan.usage && { usage: null }),
  };
}

function usageOf({ input, output, cacheRead = 0, reasoning = 0 }: WireUsage): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
