import {
  type ErrorInfo,
  type JsonValue,
  parseJson,
  type RunId,
  type Stop,
  type ToolCallId,
  toArray,
  transcript,
  type Usage,
} from '@millrace/core';
import { ResultSlots } from '../calls/result-slots.ts';
import type { LoopState } from '../contract/loop-state.ts';
import { loopMetadata, structuredValue } from '../run/output.ts';
import { createRunResult } from '../run/run-views.ts';
import { activeCommands } from '../state/commands.ts';
import type { Action } from '../state/decide.ts';
import type { FinishedRun } from './fold-cache.ts';
import type { OpenStep } from './open-step.ts';
import { type ItemReference, referenceTo, type Settled } from './settled-items.ts';

/** What comes next in a run, as plain data: for whoever has it done elsewhere. */
export type Plan =
  | { readonly do: 'request'; readonly turn: number }
  | {
      readonly do: 'calls';
      readonly turn: number;
      readonly attempt: number;
      readonly calls: readonly PlannedCall[];
      /** So many may run at once. */
      readonly maxParallel: number;
    }
  | ({ readonly do: 'done' } & RunEnd)
  /** Nothing waits to be answered, and no run was begun. */
  | { readonly do: 'idle' };

export interface PlannedCall {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** Somebody has to decide on it first. */
  readonly isAsked: boolean;
}

/** What a run came to. */
export interface RunEnd {
  readonly runId: RunId;
  readonly stop: Stop;
  /** What the assistant said last, where it is not too long. */
  readonly text: string;
  readonly isClipped: boolean;
  /** The answer as it was asked for by `output`. */
  readonly value?: JsonValue | undefined;
  /** The item that has the answer, where it is too large for `value`. */
  readonly valueAt?: ItemReference | undefined;
  readonly usage: Usage;
  readonly error?: ErrorInfo | undefined;
  /** Somebody said something that another run has to answer. */
  readonly isAsked: boolean;
}

export interface Advanced {
  /** Of the lease: requests and calls of the plan go on with it. */
  readonly epoch: number;
  readonly plan: Plan;
  /** What is done since the items that the caller knew, and how many he knows now. */
  readonly settled: readonly Settled[];
  readonly items: number;
  /** By this offset the log has all of that. */
  readonly through: number;
  /** When the session was made: steps that are told of it do not go on with another of its name. */
  readonly createdAt: number | undefined;
}

/** Requests and calls are done by those who were admitted for them. */
export function isExternalAction(step: Action): boolean {
  return step.do === 'request' || step.do === 'answer';
}

export async function createPlan({ journal, context }: OpenStep, step: Action): Promise<Plan> {
  if (step.do !== 'answer')
    return { do: 'request', turn: step.do === 'request' ? step.turn.turn : 0 };
  const { settings } = context;
  const { turn, attempt, toolItemId, calls } = step.turn;
  // In the order of the calls, before those who answer them begin in any order.
  const slots = new ResultSlots({ turn, attempt }, settings.ids, toolItemId, journal.state);
  const placed = slots.reserve(step.calls);
  if (placed.length > 0) await journal.write(placed);
  const planned = step.calls.map(({ toolCallId, name }) => {
    const { isAsked = false, answer } = calls.get(toolCallId) ?? {};
    return { toolCallId, name, isAsked: isAsked && answer === undefined };
  });
  const maxParallel = settings.limits.maxParallelTools;
  return { do: 'calls', turn, attempt, calls: planned, maxParallel };
}

/** There is something that a run would be about. */
export function hasWork(loop: LoopState): boolean {
  return loop.turn !== undefined || loop.hasInput || hasQueuedInput(loop);
}

function hasQueuedInput({ commands }: LoopState): boolean {
  return activeCommands(commands).some(
    ({ command }) => command.type === 'message' || command.type === 'compact',
  );
}

const maxText = 16 * 1024;
/** Of a value's JSON: what is longer is a reference. */
const maxValue = 256 * 1024;

export async function createRunEnd(step: OpenStep, ended: FinishedRun): Promise<RunEnd> {
  const { journal, runs } = step;
  const { id: runId, stop, before, after } = ended;
  const { loop } = journal;
  const answered = stop.reason === 'stop' ? await outputOfRun(step, ended) : {};
  // Of an earlier run nobody knows the error any more.
  const lastError = runs.ended.at(-1) === ended ? loop.lastError : undefined;
  const told = { value: undefined, error: lastError, cause: undefined };
  const { text, usage, error } = createRunResult(before, after, stop, [], told);
  const isOpenEnd = !['aborted', 'error', 'limit', 'parked'].includes(stop.reason);
  const isClipped = text.length > maxText;
  return {
    ...{ runId, stop, usage, isAsked: hasQueuedInput(loop) && isOpenEnd, isClipped },
    text: isClipped ? text.slice(0, maxText).toWellFormed() : text,
    ...answered,
    ...(error && { error }),
  };
}

/** The answer as it was asked for, or where it is. */
async function outputOfRun(
  { context }: OpenStep,
  { after }: FinishedRun,
): Promise<Pick<RunEnd, 'value' | 'valueAt'>> {
  const last = transcript(after).findLast(({ kind }) => kind === 'assistant');
  const checked = await context.settings.output?.check(structuredValue(last));
  const json: string | undefined = checked?.ok ? JSON.stringify(checked.value) : undefined;
  if (last === undefined || json === undefined) return {};
  if (json.length > maxValue) return { valueAt: referenceTo(last.id, after) };
  const parsed = parseJson(json);
  return parsed.ok ? { value: parsed.value } : {};
}

/** How often this run asked for its answer again. */
export function countRepairs({ journal, runs }: OpenStep): number {
  const known = toArray(runs.before.items).length;
  const since = toArray(journal.state.items).slice(known);
  return since.filter(({ metadata }) => metadata?.['by'] === loopMetadata.by).length;
}
