import { attemptOf, type PartId } from '../ids.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { refuseChunk, refuseJson, refusePart } from '../protocol/check-content.ts';
import type { AppendBytes, AppendText, Delta, UnknownDelta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type { DraftRecord } from '../protocol/record.ts';
import { newBytes, newText } from './apply-delta.ts';
import { applyFact } from './apply-fact.ts';
import { toBytes } from './byte-rope.ts';
import type { FoldState, ItemState, OpenPart } from './fold-state.ts';
import { judge, lengthOf, type Verdict } from './judge.ts';
import { findItem, findItemOfPart, findLiveItem, findOpen } from './lookup.ts';

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
  const verdict =
    draft.delta === undefined
      ? judgeFact(state, draft)
      : judgeFromOutside(state, draft.delta, draft, limits);
  if (verdict === 'nothing') return undefined;
  if (verdict !== 'apply') throw refused(verdict, draft);
  return draft.delta === undefined ? draft : { ...draft, delta: trimmed(state, draft.delta) };
}

type KnownDelta = Exclude<Delta, UnknownDelta>;

function judgeFromOutside(
  state: FoldState,
  delta: Delta,
  { turn, attempt }: DraftRecord,
  limits: Limits,
): Verdict {
  if (delta.type === 'unknown') return 'apply';
  const named = attemptOf(delta.partId);
  if (named.turn !== turn || named.attempt !== attempt) return 'wrong_attempt';
  const part = findOpen(state, delta.partId);
  const verdict = part === undefined ? judgeClosed(state, delta) : judge(part, delta);
  if (verdict !== 'apply') return part && isRewrite(part, delta) ? 'conflict' : verdict;
  return refuseContent(part, delta, limits) ?? refuseEntry(state, part, delta, limits) ?? 'apply';
}

/** The rows of the table for parts that are not open: the fold need not know them, a writer must. */
function judgeClosed(state: FoldState, delta: KnownDelta): Verdict {
  const isRetract = delta.type === 'retract_part';
  if (state.gone.has(delta.partId)) return isRetract ? 'nothing' : 'part_closed';
  const isCommitted = findItemOfPart(state, delta.partId) !== undefined;
  if (isCommitted) return isRetract ? 'apply' : 'part_closed';
  return judge(undefined, delta);
}

function refuseContent(
  part: OpenPart | undefined,
  delta: KnownDelta,
  limits: Limits,
): Refusal | undefined {
  switch (delta.type) {
    case 'append_text':
      if (part && isRewrite(part, delta)) return 'conflict';
      if (!delta.chunk.isWellFormed()) return 'lone_surrogate';
      return refuseChunk(delta.chunk, delta.at, limits);
    case 'append_bytes':
      if (part && isRewrite(part, delta)) return 'conflict';
      return refuseChunk(delta.chunk, delta.at, limits);
    case 'replace_structured':
      return refuseJson([delta.value], limits);
    case 'set_metadata':
      return refuseJson([delta.metadata], limits);
    case 'commit_part':
      if (delta.part !== undefined) return refusePart(delta.part, limits);
      return refuseJson([delta.providerState?.data], limits);
    case 'begin_part':
    case 'retract_part':
      return undefined;
  }
}

/** A part that enters needs an item that takes it, and room. */
function refuseEntry(
  state: FoldState,
  part: OpenPart | undefined,
  delta: KnownDelta,
  limits: Limits,
): Refusal | undefined {
  if (part !== undefined || !('itemId' in delta)) return undefined;
  const item = findLiveItem(state, delta.itemId);
  if (item === undefined) {
    return findItem(state, delta.itemId) === undefined ? 'unknown_item' : 'item_closed';
  }
  if (item.finished) return 'item_closed';
  if (!takesPartsOf(item, attemptOf(delta.partId))) return 'wrong_attempt';
  const isFull = state.open.length >= limits.maxOpenParts;
  return isFull && delta.type === 'begin_part' ? 'too_large' : undefined;
}

/** An item belongs to a turn, and to one attempt at it or (0) to all. */
function takesPartsOf(item: ItemState, named: ReturnType<typeof attemptOf>): boolean {
  return item.turn === named.turn && (item.attempt === 0 || item.attempt === named.attempt);
}

/** Does an append say something else about a stretch that is already there? */
function isRewrite(part: OpenPart, delta: KnownDelta): boolean {
  switch (delta.type) {
    case 'append_text': {
      const { at, chunk } = delta;
      const known = Math.min(chunk.length, part.text.length - at);
      return known > 0 && part.text.slice(at, at + known) !== chunk.slice(0, known);
    }
    case 'append_bytes': {
      const { at, chunk } = delta;
      const known = Math.min(chunk.length, lengthOf(part) - at);
      if (known <= 0) return false;
      const there = toBytes(part.bytes).subarray(at, at + known);
      return there.some((byte, index) => byte !== chunk[index]);
    }
    default:
      return false;
  }
}

function trimmed(state: FoldState, delta: Delta): Delta {
  if (delta.type !== 'append_text' && delta.type !== 'append_bytes') return delta;
  const part = findOpen(state, delta.partId);
  if (part === undefined || delta.at === lengthOf(part)) return delta;
  return delta.type === 'append_text' ? trimText(part, delta) : trimBytes(part, delta);
}

const trimText = (part: OpenPart, delta: AppendText): AppendText => ({
  ...delta,
  at: lengthOf(part),
  chunk: newText(part, delta),
});

const trimBytes = (part: OpenPart, delta: AppendBytes): AppendBytes => ({
  ...delta,
  at: lengthOf(part),
  chunk: newBytes(part, delta),
});

function judgeFact(state: FoldState, draft: DraftRecord & { readonly fact: Fact }): Verdict {
  const { fact } = draft;
  if (fact.type === 'item_started') {
    const isKnown = state.gone.has(fact.itemId) || findItem(state, fact.itemId) !== undefined;
    if (isKnown) return 'conflict';
  }
  const next = applyFact(state, draft);
  if (typeof next === 'string') return next;
  const isEnd = fact.type === 'item_finished' || fact.type === 'response_finished';
  const isOpen = (part: OpenPart) => isEnd && part.begin.itemId === fact.itemId;
  return state.open.some(isOpen) ? 'open_parts' : 'apply';
}

function refused(code: Refusal, { turn, attempt, delta, fact }: DraftRecord): ProtocolError {
  const body: { readonly type: string; readonly partId?: PartId } = delta ?? fact;
  const place = { turn, attempt, partId: body.partId };
  return new ProtocolError(code, `take ${body.type}`, place);
}
