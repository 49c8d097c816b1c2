import { parseJson, toArray, transcript } from '@millrace/core';
import { ResultPlaces } from '../calls/result-places.ts';
import { standingCommands } from '../loop/command.ts';
import type { Step } from '../loop/decide.ts';
import type { LoopState } from '../loop/loop-state.ts';
import { byTheLoop } from '../output/check-answer.ts';
import { answeredValue } from '../output/output.ts';
import { resultOf } from '../run/run-result.ts';
import type { EndedRun } from './ended-run.ts';
import type { OpenStep } from './open-step.ts';
import type { Plan, RunEnd } from './plan.ts';
import { referenceTo } from './settled-item.ts';

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
/** Of a value's JSON: what is longer is a reference. */
const maxValue = 256 * 1024;

export async function runEnd(step: OpenStep, ended: EndedRun): Promise<RunEnd> {
  const { journal, marks } = step;
  const { id: runId, stop, before, after } = ended;
  const { loop } = journal;
  const answered = stop.reason === 'stop' ? await answerIn(step, ended) : {};
  // Of an earlier run nobody knows the error any more.
  const lastError = marks.ended.at(-1) === ended ? loop.lastError : undefined;
  const told = { value: undefined, error: lastError, cause: undefined };
  const { text, usage, error } = resultOf(before, after, stop, [], told);
  const isOpenEnd = !['aborted', 'error', 'limit', 'parked'].includes(stop.reason);
  const isClipped = text.length > maxText;
  return {
    ...{ runId, stop, usage, isAsked: hasSaid(loop) && isOpenEnd, isClipped },
    text: isClipped ? text.slice(0, maxText).toWellFormed() : text,
    ...answered,
    ...(error && { error }),
  };
}

/** The answer as it was asked for, or where it is. */
async function answerIn(
  { context }: OpenStep,
  { after }: EndedRun,
): Promise<Pick<RunEnd, 'value' | 'valueAt'>> {
  const last = transcript(after).findLast(({ kind }) => kind === 'assistant');
  const checked = await context.settings.output?.check(answeredValue(last));
  const json: string | undefined = checked?.ok ? JSON.stringify(checked.value) : undefined;
  if (last === undefined || json === undefined) return {};
  if (json.length > maxValue) return { valueAt: referenceTo(last.id, after) };
  const parsed = parseJson(json);
  return parsed.ok ? { value: parsed.value } : {};
}

/** How often this run asked for its answer again. */
export function repairsIn({ journal, marks }: OpenStep): number {
  const known = toArray(marks.before.items).length;
  const since = toArray(journal.state.items).slice(known);
  return since.filter(({ metadata }) => metadata?.['by'] === byTheLoop.by).length;
}
