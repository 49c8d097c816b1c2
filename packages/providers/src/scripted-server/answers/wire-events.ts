import type { JsonObject } from '@millrace/core';
import { type AnswerPlan, planAnswer, type WirePieces } from './answer-plan.ts';
import { anthropicEvents } from './anthropic.ts';
import { geminiEvents } from './gemini.ts';
import { openaiChatEvents } from './openai-chat.ts';
import { openaiResponsesEvents } from './openai-responses.ts';
import { failureEvent } from './stops-and-failures.ts';
import type { WireAnswer, WireFailure, WireName } from './wire-answer.ts';

/** Options of `wireEvents`. */
export interface WireEventsOptions {
  /** The rule that splits text, reasoning and arguments into deltas. Default: `words`. */
  readonly pieces?: WirePieces;
}

/**
 * Returns the events with which a provider streams this answer, as JSON texts. Each text is the
 * data of one server-sent event.
 *
 * @example
 * wireEvents('anthropic', { text: 'Hello' }).length; // 7, from message_start to message_stop
 */
export function wireEvents(
  wire: WireName,
  answer: WireAnswer,
  options: WireEventsOptions = {},
): readonly string[] {
  const plan = planAnswer(answer, options.pieces ?? 'words');
  return eventsOf(wire, plan).map((event) => JSON.stringify(event));
}

/**
 * Returns the event with which a provider reports that a stream failed, as JSON text. Only Responses events
 * have a sequence number. That API also sends `response.failed` afterwards. To get both events, use an answer
 * with a `failure`.
 */
export function errorEvent(wire: WireName, failure: WireFailure, sequenceNumber = 0): string {
  return JSON.stringify(failureEvent(wire, failure, sequenceNumber));
}

function eventsOf(wire: WireName, plan: AnswerPlan): readonly JsonObject[] {
  switch (wire) {
    case 'openai-chat':
      return openaiChatEvents(plan);
    case 'openai-responses':
      return openaiResponsesEvents(plan);
    case 'anthropic':
      return anthropicEvents(plan);
    case 'gemini':
      return geminiEvents(plan);
  }
}
