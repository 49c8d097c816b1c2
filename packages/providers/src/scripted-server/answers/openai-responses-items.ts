import type { JsonObject } from '@millrace/core';
import type { AnswerPlan, PlannedCall } from './answer-plan.ts';

/** One output item: as it is in the end, and the events that lead there. */
export interface OutputItem {
  readonly item: JsonObject;
  readonly opening: readonly JsonObject[];
  readonly closing: readonly JsonObject[];
}

/** The items of the answer, in order. The last one has the given status, those before are complete. */
export function outputItems(plan: AnswerPlan, lastStatus: string): readonly OutputItem[] {
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
  // What is encrypted when the item is added is not yet what counts.
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
