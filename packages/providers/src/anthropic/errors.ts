import type { JsonObject, Stop, StopReason } from '@millrace/core';
import { textIn } from '../json/fields.ts';
import { type StopReasons, stopOf } from '../wire/response-end.ts';

const stopReasons: StopReasons = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_use',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  sensitive: 'content_filter',
  refusal: 'refusal',
  pause_turn: 'pause',
};

const completeReasons: ReadonlySet<StopReason> = new Set(['stop', 'tool_use', 'pause']);

/** Returns whether the message ended before the model was finished. */
export function isCutShort(reason: string | undefined): boolean {
  return reason === undefined || !completeReasons.has(stopOf(reason, stopReasons, true).reason);
}

/** The end of a message, with a summary of its content. */
interface MessageEnd {
  readonly reason: string | undefined;
  readonly details: JsonObject | undefined;
  readonly hasClientCalls: boolean;
  /** True if the structured output arrived as the input of the output tool. */
  readonly hasOutput: boolean;
}

export function stopOfMessage({ reason, details, hasClientCalls, hasOutput }: MessageEnd): Stop {
  if (reason === undefined) return { reason: 'unknown', cause: 'no_stop_reason' };
  const isOutput = reason === 'tool_use' && hasOutput && !hasClientCalls;
  const stop: Stop = isOutput
    ? { reason: 'stop', raw: reason }
    : stopOf(reason, stopReasons, hasClientCalls);
  // `category` is the category of the content that the provider refused.
  const cause = textIn(details, 'category');
  return cause === undefined ? stop : { ...stop, cause };
}
