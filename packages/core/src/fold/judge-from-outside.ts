import { refuseChunk, refuseNames, refusePart } from '../codec/check-content.ts';
import { type Attempt, attemptOf, isSameAttempt } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Delta, UnknownDelta } from '../protocol/delta.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { newBytes, newText } from './apply-delta.ts';
import { sliceBytes } from './byte-rope.ts';
import type { FoldState, ItemState, OpenPart } from './fold-state.ts';
import { judge, lengthOf, type Verdict } from './judge.ts';
import { findItem, findItemOfPart, findOpen } from './lookup.ts';

type KnownDelta = Exclude<Delta, UnknownDelta>;

/** The whole table of PROTOCOL.md: what the fold judges, and what only a writer can get wrong. */
export function judgeFromOutside(
  state: FoldState,
  delta: Delta,
  tried: Attempt,
  limits: Limits,
): Verdict {
  if (delta.type === 'unknown') return 'apply';
  if (!isSameAttempt(attemptOf(delta.partId), tried)) return 'wrong_attempt';
  const part = findOpen(state, delta.partId);
  const verdict = part === undefined ? judgeClosed(state, delta) : judge(part, delta);
  if (verdict !== 'apply' && verdict !== 'nothing') return verdict;
  if (part !== undefined && isRewrite(part, delta)) return 'conflict';
  if (verdict === 'nothing') return 'nothing';
  if (part !== undefined) return refuseContent(delta, limits) ?? 'apply';
  return refuseContent(delta, limits) ?? refuseEntry(state, delta, tried, limits) ?? 'apply';
}

/** The rows of the table for parts that are not open. */
function judgeClosed(state: FoldState, delta: KnownDelta): Verdict {
  const isRetract = delta.type === 'retract_part';
  if (state.gone.has(delta.partId)) return isRetract ? 'nothing' : 'part_closed';
  const isCommitted = findItemOfPart(state, delta.partId) !== undefined;
  if (isCommitted) return isRetract ? 'apply' : 'part_closed';
  return judge(undefined, delta);
}

function refuseContent(delta: KnownDelta, limits: Limits): Refusal | undefined {
  switch (delta.type) {
    case 'append_text':
      if (!delta.chunk.isWellFormed()) return 'lone_surrogate';
      return refuseChunk(delta.chunk, 'text', delta.at, limits);
    case 'append_bytes':
      return refuseChunk(delta.chunk, 'bytes', delta.at, limits);
    case 'commit_part':
      if (delta.part !== undefined) return refusePart(delta.part, limits);
      return refuseNames(delta, limits) ?? refuseNames(delta.providerState ?? {}, limits);
    case 'begin_part':
    case 'retract_part':
      return refuseNames(delta, limits);
    case 'replace_structured':
    case 'set_metadata':
      return undefined;
  }
}

/** A part that enters needs an item that takes it, and room. */
function refuseEntry(
  state: FoldState,
  delta: KnownDelta,
  tried: Attempt,
  limits: Limits,
): Refusal | undefined {
  if (!('itemId' in delta)) return undefined;
  const item = findItem(state, delta.itemId);
  if (item === undefined) return 'unknown_item';
  if (item.finished || item.redacted) return 'item_closed';
  if (!takesPartsOf(item, tried) || isSuperseded(state, tried)) return 'wrong_attempt';
  const isFull =
    item.parts.length >= limits.maxParts ||
    (delta.type === 'begin_part' && state.open.length >= limits.maxOpenParts);
  return isFull ? 'too_large' : undefined;
}

/** An item belongs to a turn, and to one attempt at it or (0) to all. */
export function takesPartsOf(item: ItemState, tried: Attempt): boolean {
  return item.turn === tried.turn && (item.attempt === 0 || item.attempt === tried.attempt);
}

/** What a superseded attempt still says must not come back onto the stage. */
export function isSuperseded(state: FoldState, tried: Attempt): boolean {
  return state.superseded.some((superseded) => isSameAttempt(superseded, tried));
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
      const there = sliceBytes(part.bytes, at, at + known);
      return there.some((byte, index) => byte !== chunk[index]);
    }
    default:
      return false;
  }
}

/** Of an append that overlaps what is there, the new end; anything else as it is. */
export function newEnd(state: FoldState, delta: Delta): Delta {
  if (delta.type !== 'append_text' && delta.type !== 'append_bytes') return delta;
  const part = findOpen(state, delta.partId);
  if (part === undefined || delta.at === lengthOf(part)) return delta;
  const at = lengthOf(part);
  return delta.type === 'append_text'
    ? { ...delta, at, chunk: newText(part, delta) }
    : { ...delta, at, chunk: newBytes(part, delta) };
}
