import {
  attemptOf,
  type FoldState,
  findOpen,
  type ItemKind,
  type ItemState,
  type OpenPart,
  type PartId,
  type PartSlot,
  toArray,
} from '@millrace/core';
import type { ContentAuthor } from './content-parts.ts';

/** A message, as the log has it: a part, or the parts of one reasoning block that came by updates. */
export interface LoggedMessage {
  /** `<task id>.<part id>` of the first part, or that of the message which an edit stands for. */
  readonly id: string;
  readonly item: ItemState;
  readonly author: ContentAuthor;
  readonly slots: readonly [PartSlot, ...PartSlot[]];
  /** Of its item's messages. */
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

// An item that did not change has the messages it had; while text streams, none does.
const messagesByItem = new WeakMap<ItemState, readonly LoggedMessage[]>();

/** The messages of an item, in order; none of one that is not said to anybody. */
export function messagesInItem(
  state: FoldState,
  item: ItemState | undefined,
): readonly LoggedMessage[] {
  if (item === undefined) return [];
  const messages = messagesByItem.get(item) ?? findMessages(state, item);
  messagesByItem.set(item, messages);
  return messages;
}

function findMessages(state: FoldState, item: ItemState): readonly LoggedMessage[] {
  const author = authors[item.kind];
  if (author === undefined) return [];
  return groupsOf(state, item).map((slots, position) => ({
    id: (position === 0 ? editedId(item) : undefined) ?? messageId(state, slots[0].id),
    item,
    author,
    slots,
    isFirst: position === 0,
  }));
}

function messageId({ session }: Pick<FoldState, 'session'>, id: PartId): string {
  return `${session}.${id}`;
}

/** Was it written by updates? Then its reasoning is one block. */
export function isIndexed({ metadata }: ItemState): boolean {
  return typeof metadata?.['index'] === 'number';
}

/** The message that an item stands for, which was edited after it was said. */
export function editedId({ metadata }: ItemState): string | undefined {
  const id = metadata?.['message'];
  return typeof id === 'string' ? id : undefined;
}

type Group = [PartSlot, ...PartSlot[]];

function groupsOf(state: FoldState, item: ItemState): readonly Group[] {
  const groups: Group[] = [];
  let block: Group | undefined;
  const isBlock = isIndexed(item);
  for (const slot of item.parts) {
    const isEntry = isBlock && kindOf(state, slot) === 'reasoning';
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

function kindOf(state: FoldState, { id, part }: PartSlot) {
  return part?.kind ?? findOpen(state, id)?.begin.kind;
}

export function openPartsOf(state: FoldState, { slots }: LoggedMessage): readonly OpenPart[] {
  return slots.flatMap(({ id, part }) => (part === undefined ? (findOpen(state, id) ?? []) : []));
}

export function isStreaming({ slots }: LoggedMessage): boolean {
  return slots.some(({ part }) => part === undefined);
}

/**
 * Is there anything to tell of it yet? What comes by updates is told when its format, style and index
 * are known, which is right after its begin.
 */
export function isVisible(state: FoldState, message: LoggedMessage): boolean {
  if (!isIndexed(message.item) || message.slots.some(({ part }) => part !== undefined)) return true;
  return openPartsOf(state, message).some(
    ({ metadata, text, bytes, value }) =>
      metadata !== undefined || text !== '' || bytes !== undefined || value !== undefined,
  );
}

/** The place that has the part. */
export function messageWithPart(
  messages: readonly LoggedMessage[],
  id: PartId,
): LoggedMessage | undefined {
  return messages.find(({ slots }) => slots.some((slot) => slot.id === id));
}

/** An edit counts instead of what it stands for. */
export function findMessage(state: FoldState, id: string): LoggedMessage | undefined {
  const items = toArray(state.items);
  const edit = items.findLast((item) => editedId(item) === id);
  const [edited] = messagesInItem(state, edit);
  if (edited !== undefined) return edited;
  const start = `${state.session}.`;
  if (!id.startsWith(start)) return undefined;
  const part = id.slice(start.length);
  const item = items.find(({ parts }) => parts.some((slot) => slot.id === part));
  return messagesInItem(state, item).find((message) => message.id === id);
}

/** Does another item stand for this message now? */
export function isReplaced(state: FoldState, { id, item }: LoggedMessage): boolean {
  const edit = toArray(state.items).findLast((one) => editedId(one) === id);
  return edit !== undefined && edit.id !== item.id;
}

/**
 * The index of a message in its turn: the agent's own, where it gave one; else its place among the
 * others. Outside of turns there is none. It is taken from the state alone, so that whoever comes back
 * is told the same.
 */
export function messageIndex(state: FoldState, message: LoggedMessage): number | null {
  const { item, slots, isFirst } = message;
  const [{ id, part }] = slots;
  const own = (part ?? findOpen(state, id))?.metadata?.['index'];
  if (isIndexed(item) && typeof own === 'number') return own;
  if (isIndexed(item) && isFirst) return item.metadata?.['index'] as number;
  return item.turn === 0 ? null : (ordinalsOf(state, item.turn).get(id) ?? null);
}

interface Ordinals {
  readonly turn: number;
  readonly gone: FoldState['gone'];
  readonly byId: ReadonlyMap<PartId, number>;
}

// While text streams, neither the items nor what is gone change.
const ordinalsByItems = new WeakMap<FoldState['items'], Ordinals>();

function ordinalsOf(state: FoldState, turn: number): ReadonlyMap<PartId, number> {
  const cached = ordinalsByItems.get(state.items);
  if (cached !== undefined && cached.turn === turn && cached.gone === state.gone)
    return cached.byId;
  const byId = countOrdinals(state, turn);
  ordinalsByItems.set(state.items, { turn, gone: state.gone, byId });
  return byId;
}

/** What was taken back keeps its number, so that no index is used twice. */
function countOrdinals(state: FoldState, turn: number): ReadonlyMap<PartId, number> {
  const items = itemsOfTurn(state, turn);
  const taken = new Set(items.map(({ metadata }) => metadata?.['index']));
  let next = [...state.gone].filter((id) => attemptOf(id).turn === turn).length;
  const byId = new Map<PartId, number>();
  for (const { slots } of items.flatMap((item) => messagesInItem(state, item))) {
    while (taken.has(next)) next++;
    byId.set(slots[0].id, next++);
  }
  return byId;
}

/** Reads back from the newest, and no further than the turn before. */
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
