import type { JsonObject } from '@millrace/core';
import { type AnswerPlan, type PlannedCall, scriptedTime } from './answer-plan.ts';
import { failureEvent, wireStopReason } from './stops-and-failures.ts';
import type { WireFailure, WireUsage } from './wire-answer.ts';

/**
 * Returns the events of a Responses stream: the start, output items in order, and the end. All
 * events have sequence numbers.
 */
export function openaiResponsesEvents(plan: AnswerPlan): readonly JsonObject[] {
  const stopReason = wireStopReason('openai-responses', plan.stop);
  const items = outputItems(plan, stopReason === 'completed' ? 'completed' : 'incomplete');
  const started = responseOf(plan, { status: 'in_progress' });
  const events = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    ...items.flatMap((item, index) => itemEvents(item, plan, index === items.length - 1)),
  ];
  const all = plan.failure
    ? [...events, ...failureEvents(plan, plan.failure, events.length)]
    : [...events, endEvent(plan, items, stopReason)];
  return all.map((event, index) => ({ ...event, sequence_number: index }));
}

function itemEvents(
  { opening, closing }: OutputItem,
  { failure }: AnswerPlan,
  isLast: boolean,
): readonly JsonObject[] {
  return failure && isLast ? opening : [...opening, ...closing];
}

function endEvent(plan: AnswerPlan, items: readonly OutputItem[], stopReason: string): JsonObject {
  const isComplete = stopReason === 'completed';
  const status = isComplete ? 'completed' : 'incomplete';
  const response = responseOf(plan, {
    status,
    ...(!isComplete && { incomplete_details: { reason: stopReason } }),
    output: items.map(({ item }) => item),
    usage: usageOf(plan.usage),
  });
  return { type: `response.${status}`, response };
}

/** Returns the two events with which this API reports a failure. */
function failureEvents(
  plan: AnswerPlan,
  failure: WireFailure,
  count: number,
): readonly JsonObject[] {
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

/** One output item, with its final state and the events that build it. */
interface OutputItem {
  readonly item: JsonObject;
  readonly opening: readonly JsonObject[];
  readonly closing: readonly JsonObject[];
}

/**
 * Returns the output items of the answer in order. The last item has the given status. All other items are
 * completed.
 */
function outputItems(plan: AnswerPlan, lastStatus: string): readonly OutputItem[] {
  const hasReasoning = plan.reasoning.length > 0;
  const hasText = plan.text.length > 0;
  const firstCall = Number(hasReasoning) + Number(hasText);
  const count = firstCall + plan.toolCalls.length;
  const statusAt = (index: number) => (index === count - 1 ? lastStatus : 'completed');
  const textAt = Number(hasReasoning);
  return [
    ...(hasReasoning ? [reasoningItem(plan)] : []),
    ...(hasText ? [messageItem(plan, textAt, statusAt(textAt))] : []),
    ...plan.toolCalls.map((call, nth) =>
      callItem(plan, call, nth, firstCall + nth, statusAt(firstCall + nth)),
    ),
  ];
}

function reasoningItem({ id, reasoning, signature }: AnswerPlan): OutputItem {
  const part = (text: string) => ({ type: 'summary_text', text });
  const text = reasoning.join('');
  // The encrypted content in the `added` event is preliminary. A client must use the final content.
  const sealed = (content: string) => signature !== undefined && { encrypted_content: content };
  const itemId = `rs_${id}`;
  const first = { id: itemId, type: 'reasoning', ...sealed(`early-${signature}`), summary: [] };
  const item = { ...first, ...sealed(`${signature}`), summary: [part(text)] };
  const at = { item_id: itemId, output_index: 0, summary_index: 0 };
  const summary = 'response.reasoning_summary';
  return {
    item,
    opening: [
      { type: 'response.output_item.added', output_index: 0, item: first },
      { type: `${summary}_part.added`, ...at, part: part('') },
      ...reasoning.map((delta) => ({ type: `${summary}_text.delta`, ...at, delta })),
    ],
    closing: [
      { type: `${summary}_text.done`, ...at, text },
      { type: `${summary}_part.done`, ...at, part: part(text) },
      { type: 'response.output_item.done', output_index: 0, item },
    ],
  };
}

function messageItem(plan: AnswerPlan, outputIndex: number, status: string): OutputItem {
  const isRefusal = plan.stop === 'refusal';
  const text = plan.text.join('');
  const part = isRefusal ? refusalPart : textPart;
  const kind = isRefusal ? 'response.refusal' : 'response.output_text';
  const itemId = `msg_${plan.id}`;
  const item = { id: itemId, type: 'message', status, content: [part(text)], role: 'assistant' };
  const at = { item_id: itemId, output_index: outputIndex, content_index: 0 };
  const inItem = { output_index: outputIndex };
  const first = { ...item, status: 'in_progress', content: [] };
  return {
    item,
    opening: [
      { type: 'response.output_item.added', ...inItem, item: first },
      { type: 'response.content_part.added', ...at, part: part('') },
      ...plan.text.map((delta) => ({ type: `${kind}.delta`, ...at, delta })),
    ],
    closing: [
      { type: `${kind}.done`, ...at, [isRefusal ? 'refusal' : 'text']: text },
      { type: 'response.content_part.done', ...at, part: part(text) },
      { type: 'response.output_item.done', ...inItem, item },
    ],
  };
}

function callItem(
  plan: AnswerPlan,
  call: PlannedCall,
  nth: number,
  outputIndex: number,
  status: string,
): OutputItem {
  const item = {
    id: `fc_${plan.id}_${nth + 1}`,
    type: 'function_call',
    status,
    arguments: call.arguments,
    call_id: call.givenId ?? `call_${plan.id}_${nth + 1}`,
    name: call.name,
  };
  const at = { item_id: item.id, output_index: outputIndex };
  const first = { ...item, status: 'in_progress', arguments: '' };
  const kind = 'response.function_call_arguments';
  return {
    item,
    opening: [
      { type: 'response.output_item.added', output_index: outputIndex, item: first },
      ...call.pieces.map((delta) => ({ type: `${kind}.delta`, ...at, delta })),
    ],
    closing: [
      { type: `${kind}.done`, ...at, arguments: call.arguments },
      { type: 'response.output_item.done', output_index: outputIndex, item },
    ],
  };
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

function refusalPart(refusal: string): JsonObject {
  return { type: 'refusal', refusal };
}
