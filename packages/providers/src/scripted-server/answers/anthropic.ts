import type { JsonObject } from '@millrace/core';
import type { AnswerPlan, PlannedCall } from './answer-plan.ts';
import { failureEvent, wireStopReason } from './stops-and-failures.ts';
import type { WireUsage } from './wire-answer.ts';

interface Block {
  readonly start: JsonObject;
  readonly deltas: readonly JsonObject[];
}

/**
 * Returns the events of a Messages stream: message start, content blocks in order, a delta with the
 * stop reason, and message stop.
 */
export function anthropicEvents(plan: AnswerPlan): readonly JsonObject[] {
  const blocks = blocksOf(plan);
  const isBroken = plan.failure !== undefined;
  const content = blocks.flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: block.start },
    ...(index === 0 ? [{ type: 'ping' }] : []),
    ...block.deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    ...(isBroken && index === blocks.length - 1 ? [] : [{ type: 'content_block_stop', index }]),
  ]);
  return [messageStart(plan), ...content, ...ending(plan)];
}

function blocksOf(plan: AnswerPlan): readonly Block[] {
  return [
    ...(plan.reasoning.length > 0 ? [thinkingBlock(plan)] : []),
    ...(plan.text.length > 0 ? [textBlock(plan.text)] : []),
    ...plan.toolCalls.map((call, index) => toolBlock(plan, call, index)),
  ];
}

function thinkingBlock({ reasoning, signature = 'scripted-signature' }: AnswerPlan): Block {
  return {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature },
    ],
  };
}

function textBlock(pieces: readonly string[]): Block {
  return {
    start: { type: 'text', text: '' },
    deltas: pieces.map((text) => ({ type: 'text_delta', text })),
  };
}

function toolBlock(plan: AnswerPlan, call: PlannedCall, index: number): Block {
  return {
    start: {
      type: 'tool_use',
      id: call.givenId ?? `toolu_${plan.id}_${index + 1}`,
      name: call.name,
      input: {},
    },
    // The first fragment is always empty. A call without arguments has no further fragment.
    deltas: ['', ...call.pieces].map((piece) => ({
      type: 'input_json_delta',
      partial_json: piece,
    })),
  };
}

function messageStart({ id, model, usage }: AnswerPlan): JsonObject {
  const message: JsonObject = {
    model,
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf(usage, Math.min(1, usage?.output ?? 0)),
  };
  return { type: 'message_start', message };
}

function ending(plan: AnswerPlan): readonly JsonObject[] {
  if (plan.failure) return [failureEvent('anthropic', plan.failure, 0)];
  const delta = { stop_reason: wireStopReason('anthropic', plan.stop), stop_sequence: null };
  const usage = usageOf(plan.usage, plan.usage?.output ?? 0);
  return [{ type: 'message_delta', delta, usage }, { type: 'message_stop' }];
}

/** Returns the usage in the format of this API, in which `input_tokens` does not include cached tokens. */
function usageOf(usage: WireUsage = { input: 0, output: 0 }, output: number): JsonObject {
  const { input, cacheRead = 0, cacheWrite = 0 } = usage;
  return {
    input_tokens: input - cacheRead - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
  };
}
