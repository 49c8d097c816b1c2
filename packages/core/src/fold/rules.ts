import { refuseChunk, refuseNames, refusePart } from '../codec/check-content.ts';
import { type Attempt, attemptOf, type ItemId, isSameAttempt } from '../ids.ts';
import type { ContentLimits } from '../limits.ts';
import type {
  AppendBytes,
  AppendText,
  BeginPart,
  CommitBuilt,
  Delta,
  UnknownDelta,
} from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import { type Medium, mediumOf } from '../protocol/part.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { applyFact } from './apply-fact.ts';
import {
  type FoldState,
  findItem,
  findItemOfPart,
  findOpen,
  type ItemState,
} from './fold-state.ts';
import { has } from './growing-set.ts';
import { lengthOf, newBytes, newText, type OpenPart, sliceBytes } from './open-part.ts';

/** The result of a check. `nothing` means that the record is a duplicate or adds nothing. */
type Verdict = 'apply' | 'nothing' | Refusal;

/**
 * Applies the rules of PROTOCOL.md §7 to a delta. `part` is the open part, or undefined if no such part is
 * open. The fold and the validator both call this function. The fold therefore accepts every delta that the
 * validator accepts.
 */
export function checkOpenPart(part: OpenPart | undefined, delta: Delta): Verdict {
  if (delta.type === 'unknown') return 'nothing';
  if (part === undefined) return judgeUnopened(delta);
  switch (delta.type) {
    case 'append_text':
      return judgeAppend(part, 'text', part.text.length, delta);
    case 'append_bytes':
      return judgeAppend(part, 'bytes', part.bytes?.length ?? 0, delta);
    case 'replace_structured':
      return grows(part, 'value') ? 'apply' : 'wrong_kind';
    case 'begin_part':
      return judgeBegin(part, delta);
    case 'commit_part':
      if (delta.part === undefined) return judgeBuilt(part, delta);
      return delta.itemId === part.begin.itemId ? 'apply' : 'conflict';
    case 'set_metadata':
    case 'retract_part':
      return 'apply';
  }
}

function judgeUnopened(delta: Exclude<Delta, { type: 'unknown' }>): Verdict {
  const needsNoBegin =
    delta.type === 'begin_part' || (delta.type === 'commit_part' && delta.part !== undefined);
  return needsNoBegin ? 'apply' : 'unknown_part';
}

function judgeAppend(
  part: OpenPart,
  medium: Medium,
  length: number,
  { at, chunk }: AppendText | AppendBytes,
): Verdict {
  if (!grows(part, medium)) return 'wrong_kind';
  if (at > length) return 'gap';
  return at + chunk.length > length ? 'apply' : 'nothing';
}

function judgeBegin({ begin }: OpenPart, { kind, itemId }: BeginPart): Verdict {
  return begin.kind === kind && begin.itemId === itemId ? 'nothing' : 'conflict';
}

function judgeBuilt(part: OpenPart, { length, signature }: CommitBuilt): Verdict {
  if (signature !== undefined && part.begin.kind !== 'reasoning') return 'wrong_kind';
  if (grows(part, 'value') && part.value === undefined) return 'no_value';
  return length === lengthOf(part) ? 'apply' : 'conflict';
}

function grows(part: OpenPart, medium: Medium): boolean {
  return mediumOf[part.begin.kind] === medium;
}

/**
 * Applies the rules of PROTOCOL.md §7 to a fact: the checks of the fold, and the checks that only
 * writers need.
 */
export function checkFact(state: FoldState, fact: Fact, tried: Attempt): Verdict {
  const next = applyFact(state, { ...tried, fact });
  if (typeof next === 'string') return next;
  switch (fact.type) {
    case 'item_started':
      return judgeStart(state, fact.itemId, tried);
    case 'item_finished':
      if (isSuperseded(state, tried)) return 'wrong_attempt';
      if (findItem(state, fact.itemId)?.turn !== tried.turn) return 'wrong_attempt';
      return hasOpenParts(state, fact.itemId) ? 'open_parts' : 'apply';
    case 'response_finished': {
      const item = findItem(state, fact.itemId);
      const isItsOwn = item !== undefined && acceptsPartsOf(item, tried);
      if (!isItsOwn || tried.attempt === 0 || isSuperseded(state, tried)) return 'wrong_attempt';
      return hasOpenParts(state, fact.itemId) ? 'open_parts' : 'apply';
    }
    case 'item_redacted':
      return hasOpenParts(state, fact.itemId) ? 'open_parts' : 'apply';
    case 'turn_finished': {
      const isStreaming = state.open.some((part) => attemptOf(part.id).turn === tried.turn);
      return isStreaming ? 'open_parts' : 'apply';
    }
    default:
      return 'apply';
  }
}

function judgeStart(state: FoldState, id: ItemId, tried: Attempt): Verdict {
  const isGone = state.superseded.some(({ itemIds }) => itemIds.includes(id));
  const isUsed = isGone || findItem(state, id) !== undefined;
  if (isUsed) return 'conflict';
  return isSuperseded(state, tried) ? 'wrong_attempt' : 'apply';
}

function hasOpenParts(state: FoldState, id: ItemId): boolean {
  return state.open.some((part) => part.begin.itemId === id);
}

type KnownDelta = Exclude<Delta, UnknownDelta>;

/**
 * Applies all rules of PROTOCOL.md §7 to a delta: the checks of the fold, and the checks that only
 * writers need.
 */
export function checkDelta(
  state: FoldState,
  delta: Delta,
  tried: Attempt,
  limits: ContentLimits,
): Verdict {
  if (delta.type === 'unknown') return 'apply';
  if (!isSameAttempt(attemptOf(delta.partId), tried)) return 'wrong_attempt';
  const part = findOpen(state, delta.partId);
  const verdict = part === undefined ? checkClosedPart(state, delta) : checkOpenPart(part, delta);
  if (verdict !== 'apply' && verdict !== 'nothing') return verdict;
  if (part !== undefined && isRewrite(part, delta)) return 'conflict';
  if (verdict === 'nothing') return 'nothing';
  if (part !== undefined) return refuseContent(delta, limits) ?? 'apply';
  return refuseContent(delta, limits) ?? checkNewPart(state, delta, tried, limits) ?? 'apply';
}

/** Checks a delta for a part that is not open: a committed, retracted or new part. */
function checkClosedPart(state: FoldState, delta: KnownDelta): Verdict {
  const isRetract = delta.type === 'retract_part';
  if (has(state.gone, delta.partId)) return isRetract ? 'nothing' : 'part_closed';
  const isCommitted = findItemOfPart(state, delta.partId) !== undefined;
  if (isCommitted) return isRetract ? 'apply' : 'part_closed';
  return checkOpenPart(undefined, delta);
}

function refuseContent(delta: KnownDelta, limits: ContentLimits): Refusal | undefined {
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

/** Checks that the item of a new part accepts it and that no limit is exceeded. */
function checkNewPart(
  state: FoldState,
  delta: KnownDelta,
  tried: Attempt,
  limits: ContentLimits,
): Refusal | undefined {
  if (!('itemId' in delta)) return undefined;
  const item = findItem(state, delta.itemId);
  if (item === undefined) return 'unknown_item';
  if (item.finished || item.redacted) return 'item_closed';
  if (!acceptsPartsOf(item, tried) || isSuperseded(state, tried)) return 'wrong_attempt';
  const isFull =
    item.parts.length >= limits.maxParts ||
    (delta.type === 'begin_part' && state.open.length >= limits.maxOpenParts);
  return isFull ? 'too_large' : undefined;
}

/**
 * Returns whether an item accepts parts of this attempt. An item belongs to one turn, and to one
 * attempt or (with attempt 0) to all attempts of that turn.
 */
function acceptsPartsOf(item: ItemState, tried: Attempt): boolean {
  return item.turn === tried.turn && (item.attempt === 0 || item.attempt === tried.attempt);
}

/** Returns whether the attempt was superseded. A superseded attempt must not add content. */
function isSuperseded(state: FoldState, tried: Attempt): boolean {
  return state.superseded.some((superseded) => isSameAttempt(superseded, tried));
}

/** Returns whether an append overlaps existing content with different content. */
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

/**
 * For an append that overlaps existing content, returns an append with only its new end. Returns other deltas
 * unchanged.
 */
export function newEnd(state: FoldState, delta: Delta): Delta {
  if (delta.type !== 'append_text' && delta.type !== 'append_bytes') return delta;
  const part = findOpen(state, delta.partId);
  if (part === undefined || delta.at === lengthOf(part)) return delta;
  const at = lengthOf(part);
  return delta.type === 'append_text'
    ? { ...delta, at, chunk: newText(part, delta) }
    : { ...delta, at, chunk: newBytes(part, delta) };
}
