import {
  type DraftRecord,
  decodeDraft,
  defaultContentLimits,
  encodeDraft,
  isMillraceError,
  isPartId,
  type PartId,
} from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { isCount } from './check-options.ts';

/**
 * Returns copies of the drafts, exactly as readers will decode them. Throws `bad_records` for a draft that
 * readers could not decode, because such a record would make the rest of the session unreadable.
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

/**
 * A fast path for text appends, because most drafts are text appends. Returns a copy, or undefined if the
 * draft is not a valid text append. Checking the fields is faster than encoding and decoding the draft.
 */
function plainAppend({ turn, attempt, delta, fact }: DraftRecord): DraftRecord | undefined {
  if (delta?.type !== 'append_text' || fact !== undefined) return undefined;
  const { partId: id, at, chunk } = delta;
  const isPlain =
    isCount(turn) &&
    isCount(attempt) &&
    isCount(at) &&
    typeof chunk === 'string' &&
    chunk.length <= defaultContentLimits.maxTextLength &&
    isKnownPart(id);
  if (!isPlain) return undefined;
  return { turn, attempt, delta: { type: 'append_text', partId: id, at, chunk } };
}

/** Returns whether all drafts are streamed text. The writer of streamed text does not wait for the commit. */
export function isStreamText(drafts: readonly DraftRecord[]): boolean {
  return drafts.length > 0 && drafts.every(({ delta }) => delta?.type === 'append_text');
}

/**
 * The last valid part id. Consecutive appends usually belong to the same part, so the check of its id can be
 * skipped.
 */
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
  const message = `Cannot append to session ${session}: a draft is not readable (${why}). Nothing was stored`;
  return new LogError('bad_records', message, { session, path }, { cause });
}
