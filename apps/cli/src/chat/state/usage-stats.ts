import { addUsage, noUsage, type Usage } from '@millrace/core';
import type { EventOf, Numbers } from '../contract/chat-state.ts';

export const noNumbers: Numbers = {
  ...{ model: undefined, before: noUsage, last: undefined, contextTokens: undefined },
  ...{ firstTokenMs: undefined, tokensPerSecond: undefined },
};

export function totalOf({ before, last }: Numbers): Usage {
  return last === undefined ? before : addUsage(before, last.usage);
}

export function startResponse(
  numbers: Numbers,
  { turn, attempt, time, model }: EventOf<'response_started'>,
  isAside: boolean,
): Numbers {
  const counted = { turn, attempt, usage: noUsage, isAside };
  const last = { ...counted, startedAt: time, firstAt: undefined, lastAt: time, length: 0 };
  return { ...numbers, model, before: totalOf(numbers), last };
}

/**
 * Something begins to come. Told by the begin of a part, not by its first words: those may be told
 * together with what came after them, as of then.
 */
export function beginPart(numbers: Numbers, time: number): Numbers {
  const { last } = numbers;
  if (last === undefined || last.firstAt !== undefined) return numbers;
  const timed = last.isAside ? {} : { firstTokenMs: time - last.startedAt };
  return { ...numbers, ...timed, last: { ...last, firstAt: time } };
}

/** So much came of the answer, of what was thought, or of a call. */
export function addLength(numbers: Numbers, time: number, length: number): Numbers {
  const begun = beginPart(numbers, time);
  const { last } = begun;
  if (last === undefined) return numbers;
  return { ...begun, last: { ...last, lastAt: time, length: last.length + length } };
}

/** The last word on an attempt counts. One of an attempt that was told about before has been counted. */
export function reportUsage(
  numbers: Numbers,
  { turn, attempt, usage }: EventOf<'usage_reported' | 'response_finished'>,
): Numbers {
  const { last } = numbers;
  if (last?.turn !== turn || last.attempt !== attempt) return numbers;
  return { ...numbers, last: { ...last, usage } };
}

/** Under a fifth of a second nothing can be said about speed. */
const shortestMs = 200;

export function finishResponse(numbers: Numbers, event: EventOf<'response_finished'>): Numbers {
  const reported = reportUsage(numbers, event);
  const { last } = reported;
  if (last === undefined || last.isAside) return reported;
  const { input, output } = event.usage;
  const tookMs = last.lastAt - (last.firstAt ?? last.lastAt);
  const tokensPerSecond = tookMs < shortestMs ? undefined : output / (tookMs / 1000);
  const isCounted = input + output > 0;
  return { ...reported, tokensPerSecond, ...(isCounted && { contextTokens: input + output }) };
}
