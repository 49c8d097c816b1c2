import { cutText, type Pieces } from './cut-text.ts';
import type { WireAnswer, WireFailure, WireStop, WireUsage } from './wire-answer.ts';

/** An answer with nothing left to choose: what the writers of each wire read. */
export interface AnswerPlan {
  readonly id: string;
  readonly model: string;
  /** In pieces, one a delta. */
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly toolCalls: readonly PlannedCall[];
  readonly signature: string | undefined;
  readonly usage: WireUsage | undefined;
  readonly stop: WireStop;
  readonly failure: WireFailure | undefined;
}

export interface PlannedCall {
  readonly givenId: string | undefined;
  readonly name: string;
  readonly arguments: string;
  readonly pieces: readonly string[];
}

export function planAnswer(answer: WireAnswer, pieces: Pieces): AnswerPlan {
  const { reasoning = '', text = '', toolCalls = [], signature, usage, failure } = answer;
  return {
    id: answer.id ?? 'scripted',
    model: answer.model ?? 'scripted-model',
    reasoning: cutText(reasoning, pieces),
    text: cutText(text, pieces),
    toolCalls: toolCalls.map((call) => ({
      givenId: call.id,
      name: call.name,
      arguments: call.arguments,
      pieces: cutText(call.arguments, pieces),
    })),
    signature,
    usage,
    stop: answer.stop ?? (toolCalls.length > 0 ? 'tool_use' : 'stop'),
    failure,
  };
}

/** The time that every scripted response bears. Seconds since 1970. */
export const scriptedTime = 1_700_000_000;
