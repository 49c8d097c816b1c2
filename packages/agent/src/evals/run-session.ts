import {
  type ErrorInfo,
  emptyState,
  foldBatch,
  isMillraceError,
  type JsonValue,
  type LogRecord,
  type Stop,
  sessionId,
  toArray,
  toItem,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';
import type { RunInput, RunResult } from '../contract/run.ts';
import type { Settings } from '../contract/settings.ts';
import { readRecords } from '../history/fork-before.ts';
import { toItems } from '../input/run-input.ts';
import { LiveRun } from '../run/live-run.ts';
import { structuredValue } from '../run/output.ts';
import { createRunResult } from '../views/run-views.ts';

/** A session with exactly one run, which has ended. */
export interface EndedSession {
  readonly session: string;
  readonly result: RunResult;
  readonly value: JsonValue | undefined;
  readonly durationMs: number;
  readonly error: ErrorInfo | undefined;
  /** True if the run ended with an error, was aborted, or waits for an approval. */
  readonly isFailed: boolean;
  /** True if the log already had the end of the run. */
  readonly isReused: boolean;
}

interface SessionToEnd {
  /** The id of the session. A further try has `~2`, `~3` … after it. */
  readonly session: string;
  readonly input: RunInput;
  readonly context?: unknown;
  /** Stops the work on the run in this process. The run stays open on the log, so it can continue later. */
  readonly leave: AbortSignal;
  /** If true, a failed session of an earlier process is replaced by a new session. */
  readonly retryFailed: boolean;
}

/** Maximum number of sessions for one run, if it fails again and again. */
const maxTries = 100;

/**
 * Brings the run of a session to its end, and returns what the log has about it. A run that has ended is only
 * read, so no request is sent. A run that a crash interrupted continues with its next missing answer. Rejects with
 * `left` if `leave` stopped the run.
 */
export async function endSession(
  settings: Settings,
  { session: first, input, context, leave, retryFailed }: SessionToEnd,
): Promise<EndedSession> {
  const nameOf = (number: number) => sessionId(number === 1 ? first : `${first}~${number}`);
  const hasNext = async (number: number) =>
    (await settings.log.info(nameOf(number + 1))) !== undefined;
  for (let number = 1; number <= maxTries; number++) {
    const session = nameOf(number);
    const before = await readEnd(settings.log, session);
    const isReplaced = before.ended?.isFailed && (retryFailed || (await hasNext(number)));
    if (isReplaced) continue;
    if (before.ended !== undefined) return { ...before.ended, isReused: true };
    if (leave.aborted) throw stopped(first);
    const items = before.isStarted ? undefined : toItems(input, settings.ids);
    const run = new LiveRun(settings, { session, input: items, signal: undefined, leave, context });
    const { cause, error } = await run.result;
    const { ended } = await readEnd(settings.log, session);
    if (ended !== undefined) return { ...ended, isReused: false };
    if (leave.aborted) throw stopped(first);
    // The log has no end of the run: another process drives the session, or the storage failed.
    throw isMillraceError(cause) ? cause : notEnded(session, error);
  }
  throw tooManyTries(first);
}

interface SessionEnd {
  readonly isStarted: boolean;
  readonly ended: Omit<EndedSession, 'isReused'> | undefined;
}

/** Reads the end of the last run of a session. */
export async function readEnd(
  log: Log,
  session: ReturnType<typeof sessionId>,
): Promise<SessionEnd> {
  if ((await log.info(session)) === undefined) return { isStarted: false, ended: undefined };
  const records = await readRecords(log, session);
  const started = records.find(({ fact }) => fact?.type === 'run_started');
  const last = records.findLast(
    ({ fact }) => fact?.type === 'run_started' || fact?.type === 'run_finished',
  );
  if (last?.fact?.type !== 'run_finished')
    return { isStarted: started !== undefined, ended: undefined };
  const { stop } = last.fact;
  const through = records.at(-1)?.offset ?? 0;
  const { state } = foldBatch(emptyState(session), { after: 0, through, records });
  const entries = toArray(state.items);
  const input = entries.filter(({ turn }) => turn === 0).map(toItem);
  const answer = entries.findLast(({ kind, turn }) => kind === 'assistant' && turn > 0);
  const value = answer && structuredValue(toItem(answer));
  const error = lastError(records, stop);
  const outcome = { value, error, cause: undefined };
  const result = createRunResult(emptyState(session), state, stop, input, outcome);
  const durationMs = last.time - (started?.time ?? last.time);
  const isFailed = ['error', 'aborted', 'parked'].includes(stop.reason);
  return { isStarted: true, ended: { session, result, value, durationMs, error, isFailed } };
}

function lastError(records: readonly LogRecord[], { reason }: Stop): ErrorInfo | undefined {
  if (reason !== 'error') return undefined;
  const last = records.findLast(({ fact }) => fact?.type === 'error_reported');
  return last?.fact?.type === 'error_reported' ? last.fact.error : undefined;
}

/** True if an error says that the experiment was stopped, and not that something failed. */
export function isStopped(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'left';
}

function stopped(session: string): AgentError {
  return new AgentError('left', `The run of session ${session} was stopped`, { session });
}

function notEnded(session: string, error: ErrorInfo | undefined): AgentError {
  const why = error?.message ?? 'its end is not on the log';
  return new AgentError('stuck', `Cannot end session ${session}: ${why}`, { session });
}

function tooManyTries(session: string): AgentError {
  const message = `Cannot run session ${session} again: ${maxTries} sessions of this run failed. Find the reason first`;
  return new AgentError('too_large', message, { session });
}
