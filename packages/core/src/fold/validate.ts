import { Misfit, pathText } from '../codec/decode-error.ts';
import { count } from '../codec/decoder.ts';
import { delta as deltaDecoder } from '../codec/delta.ts';
import { fact as factDecoder } from '../codec/fact.ts';
import { wireDelta, wireFact } from '../codec/to-wire.ts';
import { attemptOf, type ItemId, type PartId } from '../ids.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import type { Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type { DraftRecord } from '../protocol/record.ts';
import { applyFact } from './apply-fact.ts';
import type { Attempt, FoldState, OpenPart } from './fold-state.ts';
import type { Verdict } from './judge.ts';
import { isSuperseded, judgeFromOutside, newEnd, takesPartsOf } from './judge-from-outside.ts';
import { findItem } from './lookup.ts';

/**
 * Holds a record from outside against the state it would join: gives what to append to the log, which
 * of an overlapping append is the new end only, or undefined where it adds nothing. Throws
 * `ProtocolError` where the protocol does not allow it.
 */
export function validate<T extends DraftRecord>(
  state: FoldState,
  draft: T,
  limits: Limits = defaultLimits,
): T | undefined {
  assertForm(draft, limits);
  const verdict =
    draft.delta === undefined
      ? judgeFact(state, draft)
      : judgeFromOutside(state, draft.delta, draft, limits);
  if (verdict === 'nothing') return undefined;
  if (verdict !== 'apply') throw refused(verdict, draft);
  return draft.delta === undefined ? draft : { ...draft, delta: newEnd(state, draft.delta) };
}

/** What a reader could not read must not be written. */
function assertForm(draft: DraftRecord, limits: Limits): void {
  try {
    const { turn, attempt, delta, fact } = draft;
    count(turn, limits);
    count(attempt, limits);
    const read = fact === undefined ? reread(delta, limits) : rereadFact(fact, limits);
    if (read.type !== (fact ?? delta).type) throw new Misfit('expected a type that is not known');
  } catch (error) {
    // What is so far from its type that it cannot even be written has no path.
    const { code, path } = error instanceof Misfit ? error : new Misfit('');
    const refusal = code === 'too_large' || code === 'not_json' ? code : 'bad_value';
    throw refused(refusal, draft, pathText(path), error);
  }
}

/** As a reader would, except for bytes, which are sound whatever they are. */
const reread = (delta: Delta, limits: Limits) =>
  deltaDecoder(
    wireDelta(delta, () => ''),
    limits,
  );

function rereadFact(fact: Fact, limits: Limits): Fact {
  if (fact.type === 'snapshot') throw new Misfit('a snapshot is the store’s to write');
  return factDecoder(wireFact(fact), limits);
}

function judgeFact(state: FoldState, draft: DraftRecord & { readonly fact: Fact }): Verdict {
  const { fact } = draft;
  if (fact.type === 'item_started') {
    const isKnown = state.gone.has(fact.itemId) || findItem(state, fact.itemId) !== undefined;
    if (isKnown) return 'conflict';
    if (isSuperseded(state, draft)) return 'wrong_attempt';
  }
  const next = applyFact(state, draft);
  if (typeof next === 'string') return next;
  if (fact.type === 'turn_finished') return isStreaming(state, draft) ? 'open_parts' : 'apply';
  if ('itemId' in fact && fact.itemId !== undefined && !mayEnd(state, fact, draft)) {
    return 'wrong_attempt';
  }
  const isLast =
    fact.type === 'item_finished' ||
    fact.type === 'response_finished' ||
    fact.type === 'item_redacted';
  const isOpen = (part: OpenPart) => isLast && part.begin.itemId === fact.itemId;
  return state.open.some(isOpen) ? 'open_parts' : 'apply';
}

function isStreaming(state: FoldState, { turn }: Attempt): boolean {
  return state.open.some((part) => attemptOf(part.id).turn === turn);
}

/** An item is finished in its own turn, and by a response of one of its own attempts. */
function mayEnd(
  state: FoldState,
  { type, itemId }: { readonly type: Fact['type']; readonly itemId: ItemId },
  tried: Attempt,
): boolean {
  const item = findItem(state, itemId);
  if (item === undefined || (type !== 'item_finished' && type !== 'response_finished')) return true;
  return type === 'item_finished'
    ? item.turn === tried.turn
    : tried.attempt > 0 && takesPartsOf(item, tried);
}

function refused(
  code: Refusal,
  { turn, attempt, delta, fact }: DraftRecord,
  path?: string,
  cause?: unknown,
): ProtocolError {
  const body: { readonly type: string; readonly partId?: PartId } = delta ?? fact;
  const place = { turn, attempt, partId: body.partId, path };
  return new ProtocolError(code, `take ${body.type}`, place, { cause });
}
