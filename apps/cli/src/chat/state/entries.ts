import type { Attempt, ItemId, PartId, ToolCallId } from '@millrace/core';
import type { NoteBlock } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import type { CallEntry, Entry } from '../contract/entry.ts';

/** Appends an entry. */
export function withEntry(state: ChatState, entry: Entry): ChatState {
  return { ...state, entries: [...state.entries, entry] };
}

export function withNote(state: ChatState, at: Attempt, block: NoteBlock): ChatState {
  return withEntry(state, { kind: 'note', at, block });
}

/** Changes the entries. If `change` returns undefined, the entry is removed. */
export function mapEntries(
  state: ChatState,
  change: (entry: Entry) => Entry | undefined,
): ChatState {
  const entries = state.entries.flatMap((entry) => change(entry) ?? []);
  const isSame =
    entries.length === state.entries.length &&
    entries.every((entry, index) => entry === state.entries[index]);
  return isSame ? state : { ...state, entries };
}

export function partEntry(state: ChatState, partId: PartId): Entry | undefined {
  return state.entries.findLast((entry) => 'partId' in entry && entry.partId === partId);
}

export function callEntry(state: ChatState, id: ToolCallId): CallEntry | undefined {
  return state.entries.findLast(
    (entry): entry is CallEntry => entry.kind === 'call' && entry.card.id === id,
  );
}

export function replaceEntry(state: ChatState, old: Entry, entry: Entry): ChatState {
  return { ...state, entries: state.entries.map((one) => (one === old ? entry : one)) };
}

/**
 * Marks incomplete entries of an item as done. The item has ended and was not retracted, so they
 * can be printed.
 */
export function release(state: ChatState, itemId: ItemId): ChatState {
  return mapEntries(state, (entry) =>
    'end' in entry && entry.end === 'held' && entry.itemId === itemId
      ? { ...entry, end: 'done' }
      : entry,
  );
}

export function isOfAttempt({ at }: Entry, { turn, attempt }: Attempt): boolean {
  return at.turn === turn && at.attempt === attempt;
}
