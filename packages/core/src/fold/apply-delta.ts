import type { BeginPart, CommitBuilt, CommitWhole, Delta, RetractPart } from '../protocol/delta.ts';
import type { Part } from '../protocol/part.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { withDerived } from '../protocol/tool-call.ts';
import {
  type FoldState,
  findItem,
  findItemOfPart,
  type ItemState,
  indexOfPart,
} from './fold-state.ts';
import { add, has } from './growing-set.ts';
import { addBytes, buildPart, newBytes, newText, type OpenPart } from './open-part.ts';
import { checkOpenPart } from './rules.ts';
import { replace } from './sequence.ts';

/**
 * Returns the state with the delta applied. Returns the same state if the delta adds nothing, or a refusal
 * with the reason why the delta does not fit.
 */
export function applyDelta(state: FoldState, delta: Delta): FoldState | Refusal {
  if (delta.type === 'unknown') return state;
  // Only `retract_part` can refer to a committed part. Other deltas refer to an open or a new part.
  if (delta.type === 'retract_part') return retract(state, delta);
  const index = indexOfPart(state.open, delta.partId);
  const part = state.open[index];
  const verdict = checkOpenPart(part, delta);
  if (verdict === 'nothing') return state;
  if (verdict !== 'apply') return verdict;
  if (part === undefined) return addPart(state, delta);
  switch (delta.type) {
    case 'append_text':
      return withOpen(state, index, withText(part, part.text + newText(part, delta)));
    case 'append_bytes': {
      const bytes = addBytes(part.bytes, newBytes(part, delta));
      return withOpen(state, index, { ...part, bytes });
    }
    case 'replace_structured':
      return withOpen(state, index, { ...part, value: delta.value });
    case 'set_metadata':
      return withOpen(state, index, { ...part, metadata: delta.metadata });
    case 'commit_part':
      return commit(state, index, part, delta);
    case 'begin_part':
      return state;
  }
}

/** Adds a new part: an open part if it begins, or a committed part if it arrives whole. */
function addPart(state: FoldState, delta: Delta): FoldState | Refusal {
  if (delta.type === 'begin_part') return begin(state, delta);
  if (delta.type !== 'commit_part' || delta.part === undefined) return 'unknown_part';
  const item = findItem(state, delta.itemId);
  if (item === undefined) return 'unknown_item';
  return addSlot(state, item, { id: delta.partId, part: withDerived(delta.part) });
}

function begin(state: FoldState, delta: BeginPart): FoldState | Refusal {
  const item = findItem(state, delta.itemId);
  if (item === undefined) return 'unknown_item';
  const seated = addSlot(state, item, { id: delta.partId, part: undefined });
  if (typeof seated === 'string') return seated;
  const part: OpenPart = {
    id: delta.partId,
    begin: delta,
    itemKind: item.kind,
    text: '',
    bytes: undefined,
    value: undefined,
    metadata: undefined,
  };
  return { ...seated, open: [...state.open, part] };
}

function addSlot(
  state: FoldState,
  item: ItemState,
  slot: ItemState['parts'][number],
): FoldState | Refusal {
  if (item.finished || item.redacted) return 'item_closed';
  return withParts(state, item, [...item.parts, slot]);
}

function commit(
  state: FoldState,
  index: number,
  open: OpenPart,
  delta: CommitBuilt | CommitWhole,
): FoldState | Refusal {
  const item = findItem(state, open.begin.itemId);
  if (item === undefined) return 'unknown_item';
  const { id } = open;
  const part: Part = delta.part === undefined ? buildPart(open, delta) : withDerived(delta.part);
  // V8 copies a list several times faster with `slice` or `toSpliced` than with `map` or `filter`. This matters for an
  // item with thousands of parts.
  const parts = item.parts.slice();
  const at = indexOfPart(parts, id);
  if (at >= 0) parts[at] = { id, part };
  return { ...withParts(state, item, parts), open: state.open.toSpliced(index, 1) };
}

function retract(state: FoldState, { partId: id }: RetractPart): FoldState | Refusal {
  if (has(state.gone, id)) return state;
  const item = findItemOfPart(state, id);
  if (item === undefined) return 'unknown_part';
  const parts = item.parts.toSpliced(indexOfPart(item.parts, id), 1);
  const at = indexOfPart(state.open, id);
  const open = at < 0 ? state.open : state.open.toSpliced(at, 1);
  return { ...withParts(state, item, parts), open, gone: add(state.gone, id) };
}

function withParts(state: FoldState, item: ItemState, parts: ItemState['parts']): FoldState {
  return { ...state, items: replace(state.items, item, { ...item, parts }) };
}

// `withOpen` and the next function run once per delta. They list every field, because V8 creates an object
// literal several times faster than a copy with `...`.

function withOpen(state: FoldState, index: number, part: OpenPart): FoldState {
  const { session, through, items, gone, superseded, usage, run, asked, awaited, notUnderstood } =
    state;
  const open = state.open.slice();
  open[index] = part;
  return {
    session,
    through,
    items,
    open,
    gone,
    superseded,
    usage,
    run,
    asked,
    awaited,
    notUnderstood,
  };
}

function withText(part: OpenPart, text: string): OpenPart {
  const { id, begin, itemKind, bytes, value, metadata } = part;
  return { id, begin, itemKind, text, bytes, value, metadata };
}
