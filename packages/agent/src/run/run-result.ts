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

/** What a run came to, from the session as it found it and as it left it. */
export function resultOf(
  before: FoldState,
  after: FoldState,
  stop: Stop,
  given: readonly Item[],
): RunResult {
  const known = new Set([...toArray(before.items), ...given].map(({ id }) => id));
  const items = transcript(after).filter(({ id }) => !known.has(id));
  const last = items.findLast(({ kind }) => kind === 'assistant');
  const text = textOf(last?.parts ?? []);
  return { session: after.session, stop, text, items, usage: usageSince(after, before) };
}

/** The log failed, or somebody else has the lease: what was told is there, and nothing more was. */
export function failedResult(session: SessionId, error: unknown): RunResult {
  const info = infoOf(error);
  const stop = { reason: 'error', cause: info.code } as const;
  return { session, stop, text: '', items: [], usage: noUsage, error: info };
}

function infoOf(error: unknown): ErrorInfo {
  if (isMillraceError(error)) return { code: error.code, message: error.message };
  return { code: 'unknown', message: error instanceof Error ? error.message : String(error) };
}
