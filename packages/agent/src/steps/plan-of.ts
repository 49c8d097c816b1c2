import { type JsonValue, parseJson, toArray } from '@millrace/core';
import { ResultPlaces } from '../calls/result-places.ts';
import { standingCommands } from '../loop/command.ts';
import type { Step } from '../loop/decide.ts';
import type { LoopState } from '../loop/loop-state.ts';
import { byTheLoop, checkAnswer } from '../output/check-answer.ts';
import { resultOf } from '../run/run-result.ts';
import type { EndedRun } from './ended-run.ts';
import type { OpenStep } from './open-step.ts';
import type { Plan, RunEnd } from './plan.ts';

/** Requests and calls are done by those who were admitted for them. */
export function isOthers(step: Step): boolean {
  return step.do === 'request' || step.do === 'answer';
}

export async function planOf({ journal, context }: OpenStep, step: Step): Promise<Plan> {
  if (step.do !== 'answer')
    return { do: 'request', turn: step.do === 'request' ? step.turn.turn : 0 };
  const { settings } = context;
  const { turn, attempt, toolItemId, calls } = step.turn;
  // In the order of the calls, before those who answer them begin in any order.
  const places = new ResultPlaces({ turn, attempt }, settings.ids, toolItemId, journal.state);
  const placed = places.place(step.calls);
  if (placed.length > 0) await journal.write(placed);
  const planned = step.calls.map(({ toolCallId, name }) => {
    const { isAsked = false, answer } = calls.get(toolCallId) ?? {};
    return { toolCallId, name, isAsked: isAsked && answer === undefined };
  });
  const maxParallel = settings.limits.maxParallelTools;
  return { do: 'calls', turn, attempt, calls: planned, maxParallel };
}

/** There is something that a run would be about. */
export function isAsked(loop: LoopState): boolean {
  return loop.turn !== undefined || loop.hasInput || hasSaid(loop);
}

function hasSaid({ commands }: LoopState): boolean {
  return standingCommands(commands).some(
    ({ command }) => command.type === 'message' || command.type === 'compact',
  );
}

const maxText = 16 * 1024;

export async function runEnd(step: OpenStep, ended: EndedRun | undefined): Promise<RunEnd> {
  const { journal, marks, context } = step;
  const { id: runId, stop } = ended ?? { id: '' as never, stop: { reason: 'unknown' } as const };
  const { state, loop } = journal;
  const checked = stop.reason === 'stop' ? await checkAnswer(context) : undefined;
  const value = checked?.ok ? jsonOf(checked.value) : undefined;
  const after = { value, error: loop.lastError, cause: undefined };
  const { text, usage, error } = resultOf(marks.before, state, stop, [], after);
  const isOpenEnd = !['aborted', 'error', 'limit', 'parked'].includes(stop.reason);
  const isClipped = text.length > maxText;
  return {
    ...{ runId, stop, usage, isAsked: hasSaid(loop) && isOpenEnd, isClipped },
    text: isClipped ? text.slice(0, maxText).toWellFormed() : text,
    ...(value !== undefined && { value }),
    ...(error && { error }),
  };
}

/** What a schema made of an answer may be anything: it goes on as JSON writes it. */
function jsonOf(value: unknown): JsonValue | undefined {
  const text: string | undefined = JSON.stringify(value);
  const parsed = text === undefined ? undefined : parseJson(text);
  return parsed?.ok ? parsed.value : undefined;
}

/** How often this run asked for its answer again. */
export function repairsIn({ journal, marks }: OpenStep): number {
  const known = toArray(marks.before.items).length;
  const since = toArray(journal.state.items).slice(known);
  return since.filter(({ metadata }) => metadata?.['by'] === byTheLoop.by).length;
}
