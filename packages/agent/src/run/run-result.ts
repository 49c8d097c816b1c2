import {
  type ErrorInfo,
  type FoldState,
  type Item,
  isMillraceError,
  noUsage,
  type SessionId,
  type Stop,
  toArray,
  transcript,
} from '@millrace/core';
import type { RunResult } from './run.ts';
import { textOf } from './text-of.ts';
import { usageSince } from './usage-since.ts';

/** What else there is to say of a run. */
export interface Aftermath {
  /** The answer as it was asked for. */
  readonly value: unknown;
  readonly error: ErrorInfo | undefined;
  readonly cause: unknown;
}

/** What a run came to, from the session as it found it and as it left it. */
export function resultOf(
  before: FoldState,
  after: FoldState,
  stop: Stop,
  given: readonly Item[],
  { value: answered, error, cause }: Aftermath,
): RunResult {
  const known = new Set([...toArray(before.items), ...given].map(({ id }) => id));
  const items = transcript(after).filter(({ id }) => !known.has(id));
  const last = items.findLast(({ kind }) => kind === 'assistant');
  const text = textOf(last?.parts ?? []);
  const value = stop.reason === 'stop' && answered !== undefined ? { value: answered } : {};
  const thrown = cause === undefined ? {} : { cause };
  const why = stop.reason === 'error' && error ? { error, ...thrown } : {};
  const usage = usageSince(after, before);
  return { session: after.session, stop, text, ...value, items, usage, ...why };
}

/** The log failed, or somebody else has the lease: what was told is there, and nothing more was. */
export function failedResult(session: SessionId, error: unknown): RunResult {
  const info = infoOf(error);
  const stop = { reason: 'error', cause: info.code } as const;
  return { session, stop, text: '', items: [], usage: noUsage, error: info, cause: error };
}

/** What is not ours may say what nobody should read: it is the result's `cause`, for this process alone. */
function infoOf(error: unknown): ErrorInfo {
  if (isMillraceError(error)) return { code: error.code, message: error.message };
  return { code: 'unknown', message: 'Cannot go on: something threw that should not have' };
}
