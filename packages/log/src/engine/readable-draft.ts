import {
  type DraftRecord,
  decodeDraft,
  defaultLimits,
  encodeDraft,
  isMillraceError,
  isPartId,
  type PartId,
} from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { isCount } from './check-options.ts';

/**
 * The drafts as any reader will read them, whatever becomes of those that were given. Throws
 * `bad_records` where none could: once they are stored, the session could never be read past them.
 */
export function readableDrafts(
  drafts: readonly DraftRecord[],
  session: string,
): readonly DraftRecord[] {
  try {
    return drafts.map((draft) => plainAppend(draft) ?? decodeDraft(encodeDraft(draft)));
  } catch (error) {
    throw unreadableDraft(error, session);
  }
}

/** Most are, and to see that one is costs less than to write it and read it again. */
function plainAppend({ turn, attempt, delta, fact }: DraftRecord): DraftRecord | undefined {
  if (delta?.type !== 'append_text' || fact !== undefined) return undefined;
  const { partId: id, at, chunk } = delta;
  const isPlain =
    isCount(turn) &&
    isCount(attempt) &&
    isCount(at) &&
    typeof chunk === 'string' &&
    chunk.length <= defaultLimits.maxTextLength &&
    isKnownPart(id);
  if (!isPlain) return undefined;
  return { turn, attempt, delta: { type: 'append_text', partId: id, at, chunk } };
}

/** The last one that was found to be an id: appends come many to a part. */
let lastKnownPart: PartId | undefined;

function isKnownPart(id: PartId): boolean {
  if (id === lastKnownPart) return true;
  if (typeof id !== 'string' || !isPartId(id)) return false;
  lastKnownPart = id;
  return true;
}

function unreadableDraft(cause: unknown, session: string): LogError {
  const { path } = isMillraceError(cause) ? cause.place : {};
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `Cannot append to session ${session}: no reader could read it (${why}). Nothing was stored`;
  return new LogError('bad_records', message, { session, path }, { cause });
}
