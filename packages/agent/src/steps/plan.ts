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
import { activeCommands, startsQueuedInput } from '../state/commands.ts';
import type { Action } from '../state/decide.ts';
import { askedCalls } from '../state/turn-calls.ts';
import { createRunResult } from '../views/run-views.ts';
import type { FinishedRun } from './fold-cache.ts';
import type { OpenStep } from './open-step.ts';
import { type FinishedItem, type ItemReference, referenceTo } from './settled-items.ts';

/** The next work of a run, as plain data. A workflow passes it to other processes. */
export type Plan =
  | { readonly do: 'request'; readonly turn: number }
  | {
      readonly do: 'tool_calls';
      readonly turn: number;
      readonly attempt: number;
      readonly toolCalls: readonly PlannedCall[];
      /** Maximum number of calls that may run at the same time. */
      readonly maxParallel: number;
    }
  | ({ readonly do: 'done' } & RunEnd)
  /** There is no input to answer, so no run was started. */
  | { readonly do: 'idle' };

/** A tool call that a `callStep` has to run. */
export interface PlannedCall {
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** True if the user must first decide on the call. */
  readonly needsApproval: boolean;
}

/** The outcome of a run, as plain data. */
export interface RunEnd {
  readonly runId: RunId;
  /** The reason why the run ended. */
  readonly stop: Stop;
  /** The text of the last answer, clipped if it is long. */
  readonly text: string;
  /** True if `text` is clipped. */
  readonly isClipped: boolean;
  /** The validated value, if the agent has an `output` schema. */
  readonly value?: JsonValue | undefined;
  /** A reference to the item with the value. Set if the value is too large for `value`. */
  readonly valueAt?: ItemReference | undefined;
  readonly usage: Usage;
  readonly error?: ErrorInfo | undefined;
  /** True if there is further input, which a new run has to answer. */
  readonly hasMoreInput: boolean;
}

/** The result of `advance`. */
export interface AdvanceResult {
  /** The epoch of the lease. Request steps and call steps use it. */
  readonly epoch: number;
  /** The next work of the run. */
  readonly plan: Plan;
  /** The finished items after the items that the caller already has (`items` of `AdvanceOptions`). */
  readonly settled: readonly FinishedItem[];
  /** The number of items that the caller has with this result. Pass it to the next step. */
  readonly items: number;
  /** The log offset up to which this result describes the session. */
  readonly through: number;
  /**
   * The time at which the session was created. Pass it to later steps, so that they do not continue in a new
   * session with the same id.
   */
  readonly createdAt: number | undefined;
}

/** Returns true if a request step or a call step in a different process performs the action. */
export function isExternalAction(step: Action): boolean {
  return step.do === 'request' || step.do === 'answer';
}

export async function createPlan({ journal, context }: OpenStep, step: Action): Promise<Plan> {
  if (step.do !== 'answer')
    return { do: 'request', turn: step.do === 'request' ? step.turn.turn : 0 };
  const { settings } = context;
  const { turn, attempt, toolItemId } = step.turn;
  const asked = askedCalls(journal.state, journal.loop);
  // The result parts are reserved here in call order, because the calls may finish in any order.
  const slots = new ResultSlots({ turn, attempt }, settings.ids, toolItemId, journal.state);
  const placed = slots.reserve(step.calls);
  if (placed.length > 0) await journal.write(placed);
  const planned = step.calls.map(({ toolCallId, name }) => {
    return { toolCallId, name, needsApproval: asked.has(toolCallId) };
  });
  const maxParallel = settings.limits.maxParallelTools;
  return { do: 'tool_calls', turn, attempt, toolCalls: planned, maxParallel };
}

/** Returns true if the session has an open turn, or input that has no answer yet. */
export function hasWork(loop: LoopState): boolean {
  return loop.turn !== undefined || loop.hasInput || hasQueuedInput(loop);
}

function hasQueuedInput({ commands }: LoopState): boolean {
  return activeCommands(commands).some(
    ({ command }) => command.type === 'message' || command.type === 'compact',
  );
}

const maxText = 16 * 1024;
/** Maximum length of a value's JSON, in characters. A longer value is passed as a reference. */
const maxValue = 256 * 1024;

export async function createRunEnd(step: OpenStep, ended: FinishedRun): Promise<RunEnd> {
  const { journal, runs } = step;
  const { id: runId, stop, before, after } = ended;
  const { loop } = journal;
  const answered = stop.reason === 'stop' ? await outputOfRun(step, ended) : {};
  // The state contains only the error of the last run.
  const lastError = runs.ended.at(-1) === ended ? loop.lastError : undefined;
  const { blockedBy } = loop;
  const outcome = { value: undefined, error: lastError, cause: undefined, blockedBy };
  const { text, usage } = createRunResult(before, after, stop, [], outcome);
  const error = stop.reason === 'error' ? lastError : undefined;
  const hasMoreInput = startsQueuedInput(stop) && hasQueuedInput(loop);
  const isClipped = text.length > maxText;
  return {
    ...{ runId, stop, usage, hasMoreInput, isClipped },
    text: isClipped ? text.slice(0, maxText).toWellFormed() : text,
    ...answered,
    ...(error && { error }),
  };
}

/** Returns the validated value of the answer, or a reference to it. */
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

/** Returns how many times this run asked the model to answer again because its answer was invalid. */
export function countRepairs({ journal, runs }: OpenStep): number {
  const known = toArray(runs.before.items).length;
  const since = toArray(journal.state.items).slice(known);
  return since.filter(({ metadata }) => metadata?.['by'] === loopMetadata.by).length;
}
