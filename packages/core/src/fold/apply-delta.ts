import type { ItemId, PartId } from '../ids.ts';
import type {
  AppendBytes,
  AppendText,
  BeginPart,
  CommitBuilt,
  CommitWhole,
  Delta,
  RetractPart,
} from '../protocol/delta.ts';
import type { Part } from '../protocol/part.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { buildPart } from './build-part.ts';
import { addBytes } from './byte-rope.ts';
import { changeItem, retire } from './change-items.ts';
import type { FoldState, OpenPart } from './fold-state.ts';
import { judge, lengthOf } from './judge.ts';
import { findItemOfPart, findLiveItem, indexOfOpen } from './lookup.ts';

/** The state with the delta in it, the same state if it adds nothing, or why it does not fit. */
export function applyDelta(state: FoldState, delta: Delta): FoldState | Refusal {
  if (delta.type === 'unknown') return state;
  const index = indexOfOpen(state.open, delta.partId);
  const part = state.open[index];
  // The only delta that speaks of a part which may be closed: all others are judged as open or new.
  if (delta.type === 'retract_part') return retract(state, delta);
  const verdict = judge(part, delta);
  if (verdict === 'nothing') return state;
  if (verdict !== 'apply') return verdict;
  if (part === undefined) return enter(state, delta);
  switch (delta.type) {
    case 'append_text':
      return withOpen(state, index, withText(part, part.text + newText(part, delta)));
    case 'append_bytes':
      return withOpen(state, index, {
        ...part,
        bytes: addBytes(part.bytes, newBytes(part, delta)),
      });
    case 'replace_structured':
      return withOpen(state, index, { ...part, value: delta.value });
    case 'set_metadata':
      return withOpen(state, index, { ...part, metadata: delta.metadata });
    case 'commit_part':
      return commit(state, part.id, part.begin.itemId, finishedPart(part, delta));
    case 'begin_part':
      return state;
  }
}

/** The new end of a chunk, which may start before the end of what is there. */
export function newText(part: OpenPart, { at, chunk }: AppendText): string {
  const known = part.text.length - at;
  return known === 0 ? chunk : chunk.slice(known);
}

export function newBytes(part: OpenPart, { at, chunk }: AppendBytes): Uint8Array {
  const known = lengthOf(part) - at;
  return known === 0 ? chunk : chunk.subarray(known);
}

function finishedPart(part: OpenPart, delta: CommitBuilt | CommitWhole): Part {
  return delta.part === undefined ? buildPart(part, delta) : delta.part;
}

/** A part that was not there: begun, or come whole. */
function enter(state: FoldState, delta: Delta): FoldState | Refusal {
  if (delta.type === 'begin_part') return begin(state, delta);
  if (delta.type !== 'commit_part' || delta.part === undefined) return 'unknown_part';
  const { partId: id, itemId, part } = delta;
  const item = findLiveItem(state, itemId);
  if (item === undefined) return 'unknown_item';
  if (item.finished || item.redacted) return 'item_closed';
  return changeItem(state, itemId, (old) => ({ ...old, parts: [...old.parts, { id, part }] }));
}

function begin(state: FoldState, delta: BeginPart): FoldState | Refusal {
  const item = findLiveItem(state, delta.itemId);
  if (item === undefined) return 'unknown_item';
  if (item.finished || item.redacted) return 'item_closed';
  const part: OpenPart = {
    id: delta.partId,
    begin: delta,
    itemKind: item.kind,
    text: '',
    bytes: undefined,
    value: undefined,
    metadata: undefined,
  };
  const parts = [...item.parts, { id: part.id, part: undefined }];
  const seated = changeItem(state, item.id, (old) => ({ ...old, parts }));
  return { ...seated, open: [...state.open, part] };
}

function commit(state: FoldState, id: PartId, itemId: ItemId, part: Part): FoldState {
  const filled = changeItem(state, itemId, (item) => ({
    ...item,
    parts: item.parts.map((slot) => (slot.id === id ? { id, part } : slot)),
  }));
  return retire({ ...filled, open: state.open.filter((open) => open.id !== id) });
}

function retract(state: FoldState, { partId: id }: RetractPart): FoldState | Refusal {
  if (state.gone.has(id)) return state;
  const item = findItemOfPart(state, id);
  if (item === undefined) return 'unknown_part';
  const left = changeItem(state, item.id, (old) => ({
    ...old,
    parts: old.parts.filter((slot) => slot.id !== id),
  }));
  const open = state.open.filter((part) => part.id !== id);
  return retire({ ...left, open, gone: new Set(state.gone).add(id) });
}

// The two below run once a delta. They name every field because V8 makes an object literal several
// times faster than it copies an object.

function withOpen(state: FoldState, index: number, part: OpenPart): FoldState {
  const { session, through, past, live, gone, superseded, usage, run, notUnderstood } = state;
  const open = state.open.slice();
  open[index] = part;
  return { session, through, past, live, open, gone, superseded, usage, run, notUnderstood };
}

function withText(part: OpenPart, text: string): OpenPart {
  const { id, begin, itemKind, bytes, value, metadata } = part;
  return { id, begin, itemKind, text, bytes, value, metadata };
}
