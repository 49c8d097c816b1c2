import {
  attemptOf,
  type DraftRecord,
  decodeDraft,
  defaultLimits,
  encodeDraft,
  isMillraceError,
  type PartId,
  partId,
} from '@millrace/core';
import { LogError } from '../contract/log-error.ts';

/**
 * The draft as any reader will read it. Throws `bad_records` where none could: once it is stored, the
 * session could never be read past it.
 */
export function readableDraft(draft: DraftRecord, session: string): DraftRecord {
  if (isPlainAppend(draft)) return draft;
  try {
    return decodeDraft(encodeDraft(draft));
  } catch (error) {
    throw unreadable(error, session);
  }
}

/** Most are, and to see that one is costs less than to write it and read it again. */
function isPlainAppend({ turn, attempt, delta, fact }: DraftRecord): boolean {
  return (
    delta?.type === 'append_text' &&
    fact === undefined &&
    isCount(turn) &&
    isCount(attempt) &&
    isCount(delta.at) &&
    typeof delta.chunk === 'string' &&
    delta.chunk.length <= defaultLimits.maxTextLength &&
    isPartId(delta.partId)
  );
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** The last one that was found to be an id: appends come many to a part. */
let known: PartId | undefined;

function isPartId(id: PartId): boolean {
  if (id === known) return true;
  try {
    const { turn, attempt } = attemptOf(id);
    if (partId(turn, attempt, id.slice(`${turn}.${attempt}.`.length)) !== id) return false;
    known = id;
    return true;
  } catch {
    return false;
  }
}

function unreadable(cause: unknown, session: string): LogError {
  const { path } = isMillraceError(cause) ? cause.place : {};
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `Cannot append to session ${session}: no reader could read it (${why}). Nothing was stored`;
  return new LogError('bad_records', message, { session, path }, { cause });
}
