import {
  type FoldState,
  findOpen,
  type ItemKind,
  type ItemState,
  type OpenPart,
  type PartId,
  type PartSlot,
  type ReasoningPart,
} from '@millrace/core';
import type { ContentAuthor } from './content-parts.ts';

/**
 * A message as the log stores it: one part, or all parts of a reasoning block that was written by updates.
 */
export interface LoggedMessage {
  /**
   * The id of the message: `<task id>.<part id>` of the first part. An edit has the id of the edited message.
   */
  readonly id: string;
  readonly item: ItemState;
  readonly author: ContentAuthor;
  readonly slots: readonly [PartSlot, ...PartSlot[]];
  /** True if this is the first message of its item. */
  readonly isFirst: boolean;
}

const authors: { readonly [Kind in ItemKind]: ContentAuthor | undefined } = {
  user: 'user',
  assistant: 'agent',
  tool: 'agent',
  system: undefined,
  developer: undefined,
  context: undefined,
  notification: undefined,
};

// Caches the messages of each item. An item does not change while text streams.
const messagesByItem = new WeakMap<ItemState, readonly LoggedMessage[]>();

/** Returns the messages of an item, in order. Items that are hidden from users have no messages. */
export function messagesInItem(
  state: FoldState,
  item: ItemState | undefined,
): readonly LoggedMessage[] {
  if (item === undefined) return [];
  const messages = messagesByItem.get(item) ?? buildMessages(state, item);
  messagesByItem.set(item, messages);
  return messages;
}

function buildMessages(state: FoldState, item: ItemState): readonly LoggedMessage[] {
  const author = authors[item.kind];
  if (author === undefined) return [];
  return groupsOf(state, item).map((slots, position) =>
    messageOfSlots(state, item, author, slots, position === 0),
  );
}

function messageOfSlots(
  state: FoldState,
  item: ItemState,
  author: ContentAuthor,
  slots: LoggedMessage['slots'],
  isFirst: boolean,
): LoggedMessage {
  const id = (isFirst ? editedId(item) : undefined) ?? messageId(state, slots[0].id);
  return { id, item, author, slots, isFirst };
}

function messageId({ session }: Pick<FoldState, 'session'>, id: PartId): string {
  return `${session}.${id}`;
}

/** Returns whether updates wrote the item. Its reasoning parts then form one block. */
export function isIndexed({ metadata }: ItemState): boolean {
  return typeof metadata?.['index'] === 'number';
}

/** Returns the id of the message that this item replaces. Returns undefined if the item is not an edit. */
export function editedId({ metadata }: ItemState): string | undefined {
  const id = metadata?.['message'];
  return typeof id === 'string' ? id : undefined;
}

type Group = [PartSlot, ...PartSlot[]];

/** Returns whether users see the item. */
export function isShown({ kind }: ItemState): boolean {
  return authors[kind] !== undefined;
}

function groupsOf(state: FoldState, item: ItemState): readonly Group[] {
  const groups: Group[] = [];
  let block: Group | undefined;
  const isBlock = isIndexed(item);
  for (const slot of item.parts) {
    const isEntry = isBlock && isReasoning(state, slot);
    if (isEntry && block !== undefined) {
      block.push(slot);
      continue;
    }
    const group: Group = [slot];
    if (isEntry) block = group;
    groups.push(group);
  }
  return groups;
}

/** Returns whether the part is reasoning, open or committed. */
export function isReasoning(state: FoldState, slot: PartSlot): boolean {
  return reasoningForm(state, slot) !== undefined;
}

// Caches the form of each open part. It never changes, and the fold keeps the slot until the part ends. Each delta
// changes the list of open parts, so a search for all parts of a block would take parts × parts steps for each delta.
const openForms = new WeakMap<PartSlot, { readonly form: ReasoningPart['form'] | undefined }>();

/** Returns the form of a part that is reasoning, open or committed. Returns undefined for other parts. */
export function reasoningForm(state: FoldState, slot: PartSlot): ReasoningPart['form'] | undefined {
  const { id, part } = slot;
  if (part !== undefined) return part.kind === 'reasoning' ? part.form : undefined;
  const known = openForms.get(slot);
  if (known !== undefined) return known.form;
  const begin = findOpen(state, id)?.begin;
  const form = begin?.kind === 'reasoning' ? begin.form : undefined;
  if (begin !== undefined) openForms.set(slot, { form });
  return form;
}

// Caches the open parts by their ids. One search in the list for each part would take parts × parts steps.
const openByList = new WeakMap<FoldState['open'], ReadonlyMap<PartId, OpenPart>>();

/** Returns the open parts by their ids. */
export function openById({ open }: FoldState): ReadonlyMap<PartId, OpenPart> {
  const byId = openByList.get(open) ?? new Map(open.map((part) => [part.id, part]));
  openByList.set(open, byId);
  return byId;
}

export function openPartsOf(state: FoldState, { slots }: LoggedMessage): readonly OpenPart[] {
  const find = (id: PartId) => (slots.length === 1 ? findOpen(state, id) : openById(state).get(id));
  return slots.flatMap(({ id, part }) => (part === undefined ? (find(id) ?? []) : []));
}

export function isStreaming({ slots }: LoggedMessage): boolean {
  return slots.some(({ part }) => part === undefined);
}

/**
 * Returns whether clients may see the message. A message from updates becomes visible when it has metadata or
 * content, directly after its start.
 */
export function isVisible(state: FoldState, message: LoggedMessage): boolean {
  const { item, slots } = message;
  if (!isIndexed(item) || slots.some(({ part }) => part !== undefined)) return true;
  const [{ id: first }] = slots;
  // All open reasoning parts of the item belong to its block. A search for each of them would take too long.
  const isOwn = ({ id, begin }: OpenPart) =>
    id === first || (slots.length > 1 && begin.itemId === item.id && begin.kind === 'reasoning');
  return state.open.some((open) => hasContent(open) && isOwn(open));
}

function hasContent({ metadata, text, bytes, value }: OpenPart): boolean {
  return metadata !== undefined || text !== '' || bytes !== undefined || value !== undefined;
}

// Caches the messages that were found by their parts.
const messagesByPart = new WeakMap<ItemState, Map<PartId, LoggedMessage>>();

/**
 * Returns the message of an item that contains the part. It does not build the other messages, because a
 * message of a user can have thousands of parts.
 */
export function messageWithPart(
  state: FoldState,
  item: ItemState | undefined,
  id: PartId,
): LoggedMessage | undefined {
  if (item === undefined) return undefined;
  const known = messagesByPart.get(item) ?? new Map<PartId, LoggedMessage>();
  messagesByPart.set(item, known);
  const block = blocks.get(item);
  // The item is searched only once for all parts of its block.
  if (block !== undefined && !known.has(id))
    for (const slot of block.slots) known.set(slot.id, block);
  const message = known.get(id) ?? findMessageOfPart(state, item, id);
  if (message === undefined) return undefined;
  known.set(id, message);
  known.set(message.slots[0].id, message);
  return message;
}

// Caches the block of reasoning of each item with an index.
const blocks = new WeakMap<ItemState, LoggedMessage>();

/** Builds the message of a part. Only the reasoning parts of an item with an index share a message. */
function findMessageOfPart(
  state: FoldState,
  item: ItemState,
  id: PartId,
): LoggedMessage | undefined {
  const author = authors[item.kind];
  const slot = item.parts.findLast((one) => one.id === id);
  if (author === undefined || slot === undefined) return undefined;
  const isEntry = isIndexed(item) && isReasoning(state, slot);
  const block = isEntry ? item.parts.filter((one) => isReasoning(state, one)) : [];
  const [first = slot, ...rest] = block;
  const message = messageOfSlots(state, item, author, [first, ...rest], first === item.parts[0]);
  if (isEntry) blocks.set(item, message);
  return message;
}

/** Finds a message by its id. If the message was edited, it returns the latest edit. */
export function findMessage(state: FoldState, id: string): LoggedMessage | undefined {
  return findMessages(state, [id]).get(id);
}

/**
 * Finds messages by their ids, as `findMessage` does. It reads the items of the session once for all ids. One
 * search for each id would take messages × ids steps, and a request can have 1,000 ids.
 */
export function findMessages(
  state: FoldState,
  ids: readonly string[],
): ReadonlyMap<string, LoggedMessage> {
  const wanted = new Set(ids);
  const start = `${state.session}.`;
  const parts = new Set(
    ids.filter((id) => id.startsWith(start)).map((id) => id.slice(start.length)),
  );
  const found = new Map<string, LoggedMessage>();
  const edits = new Map<string, LoggedMessage | undefined>();
  for (let link: FoldState['items'] | undefined = state.items; link; link = link.before) {
    for (const item of link.chunk.toReversed()) {
      const edited = editedId(item);
      if (edited !== undefined && wanted.has(edited) && !edits.has(edited))
        edits.set(edited, messagesInItem(state, item)[0]);
      if (!item.parts.some((slot) => parts.has(slot.id))) continue;
      for (const message of messagesInItem(state, item))
        if (wanted.has(message.id)) found.set(message.id, message);
    }
  }
  for (const [id, edit] of edits) if (edit !== undefined) found.set(id, edit);
  return found;
}

// Caches the ids of the messages that the items of a chunk replace. A chunk never changes. Most chunks contain
// no edit, so a search reads one empty set for each chunk.
const editsByChunk = new WeakMap<readonly ItemState[], ReadonlyMap<string, ItemState['id']>>();

function editsIn(chunk: readonly ItemState[]): ReadonlyMap<string, ItemState['id']> {
  const known = editsByChunk.get(chunk);
  if (known !== undefined) return known;
  const edits = new Map<string, ItemState['id']>();
  for (const item of chunk) {
    const id = editedId(item);
    if (id !== undefined) edits.set(id, item.id);
  }
  editsByChunk.set(chunk, edits);
  return edits;
}

/** Returns whether a later item replaces this message. */
export function isReplaced(state: FoldState, { id, item }: LoggedMessage): boolean {
  for (let link: FoldState['items'] | undefined = state.items; link; link = link.before) {
    const edit = editsIn(link.chunk).get(id);
    if (edit !== undefined) return edit !== item.id;
  }
  return false;
}

/** Returns the items of a turn. It reads backwards from the newest item and stops at the previous turn. */
export function itemsOfTurn({ items }: FoldState, turn: number): readonly ItemState[] {
  const found: ItemState[] = [];
  for (let link: FoldState['items'] | undefined = items; link !== undefined; link = link.before) {
    for (const item of link.chunk.toReversed()) {
      if (item.turn === turn) found.push(item);
      if (item.turn > 0 && item.turn < turn) return found.reverse();
    }
  }
  return found.reverse();
}
