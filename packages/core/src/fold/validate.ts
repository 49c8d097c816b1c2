import { rereadDelta, rereadFact, UndecodableError } from '../codec/reread.ts';
import { type ContentLimits, completeLimits } from '../limits.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type { DraftRecord } from '../protocol/record.ts';
import type { FoldState } from './fold-state.ts';
import { checkDelta, checkFact, newEnd } from './rules.ts';

/**
 * Checks an untrusted record against the state to which it will be applied. Returns the record to append, or
 * undefined if the record adds nothing. Throws `ProtocolError` if the protocol does not allow the record. The
 * returned record has only known fields. If an append overlaps existing content, the returned record contains
 * only its new end.
 */
export function validate<T extends DraftRecord>(
  state: FoldState,
  given: T,
  changed?: Partial<ContentLimits>,
): T | undefined {
  const limits = completeLimits(changed);
  const draft = reread(given, limits);
  const verdict =
    draft.delta === undefined
      ? checkFact(state, draft.fact, draft)
      : checkDelta(state, draft.delta, draft, limits);
  if (verdict === 'nothing') return undefined;
  if (verdict !== 'apply') throw refused(verdict, given);
  return draft.delta === undefined ? draft : { ...draft, delta: newEnd(state, draft.delta) };
}

/**
 * Returns the record as a reader would decode it. Throws `ProtocolError` if no reader could decode
 * its content.
 */
function reread<T extends DraftRecord>(given: T, limits: ContentLimits): T {
  const { turn, attempt, delta, fact } = given ?? {};
  const isCounted = [turn, attempt].every((count) => Number.isSafeInteger(count) && count >= 0);
  if (!isCounted || (delta === undefined) === (fact === undefined))
    throw refused('bad_value', given);
  try {
    return delta === undefined
      ? { ...given, fact: rereadFact(fact, limits) }
      : { ...given, delta: rereadDelta(delta, limits) };
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    throw refused(error.refusal, given, error.path, error.cause);
  }
}

/** Creates the error for a refused value. The value is untrusted, so it may not match its TypeScript type. */
function refused(code: Refusal, given: unknown, path?: string, cause?: unknown): ProtocolError {
  const { turn, attempt, delta, fact } = fieldsOf(given);
  const { type, partId } = fieldsOf(delta ?? fact);
  const place = { turn: shown(turn), attempt: shown(attempt), partId: shown(partId), path };
  return new ProtocolError(code, `take ${shown(type) ?? 'a draft'}`, place, { cause });
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function shown(value: unknown): string | number | undefined {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}
