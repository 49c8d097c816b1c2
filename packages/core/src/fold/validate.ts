import { rereadDelta, rereadFact, Unreadable } from '../codec/reread.ts';
import { completeLimits, type Limits } from '../limits.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type { DraftRecord } from '../protocol/record.ts';
import type { FoldState } from './fold-state.ts';
import { judgeFact, judgeFromOutside, newEnd } from './rules.ts';

/**
 * Holds a record from outside against the state it would join: gives what to append to the log, with
 * the fields that are known and no others, which of an overlapping append is the new end only; or
 * undefined where it adds nothing. Throws `ProtocolError` where the protocol does not allow it.
 */
export function validate<T extends DraftRecord>(
  state: FoldState,
  given: T,
  changed?: Partial<Limits>,
): T | undefined {
  const limits = completeLimits(changed);
  const draft = reread(given, limits);
  const verdict =
    draft.delta === undefined
      ? judgeFact(state, draft.fact, draft)
      : judgeFromOutside(state, draft.delta, draft, limits);
  if (verdict === 'nothing') return undefined;
  if (verdict !== 'apply') throw refused(verdict, given);
  return draft.delta === undefined ? draft : { ...draft, delta: newEnd(state, draft.delta) };
}

/** What a reader would read of it: what none could read must not be written. */
function reread<T extends DraftRecord>(given: T, limits: Limits): T {
  const { turn, attempt, delta, fact } = given ?? {};
  const isCounted = [turn, attempt].every((count) => Number.isSafeInteger(count) && count >= 0);
  if (!isCounted || (delta === undefined) === (fact === undefined))
    throw refused('bad_value', given);
  try {
    return delta === undefined
      ? { ...given, fact: rereadFact(fact, limits) }
      : { ...given, delta: rereadDelta(delta, limits) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw refused(error.refusal, given, error.path, error.cause);
  }
}

/** Takes nothing for granted: what is refused here may be nothing that its type allows. */
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
