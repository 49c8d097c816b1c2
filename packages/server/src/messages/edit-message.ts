import {
  attemptOf,
  type DraftRecord,
  type FoldState,
  findOpen,
  type Ids,
  type OpenPart,
} from '@millrace/core';
import type { Content } from '../contract/content.ts';
import { ServerError } from '../contract/server-error.ts';
import { contentToParts } from '../updates/content-parts.ts';
import type { LoggedMessage } from '../updates/logged-message.ts';
import { messageRow } from '../updates/task-messages.ts';
import { convertContent, messageDrafts } from './message-drafts.ts';

/** A change of the content of a message. */
export interface MessageEdit {
  readonly message: LoggedMessage;
  readonly content: Content;
  /** True if the message continues to stream after the edit. */
  readonly isOpen: boolean;
}

/**
 * Returns the records that change the content of a message. If the message has one part and still streams,
 * the new content finishes it. Otherwise the old parts are retracted, and a new item takes over the message's
 * id and time.
 */
export function editDrafts(
  state: FoldState,
  { message, content, isOpen }: MessageEdit,
  ids: Pick<Ids, 'item' | 'part' | 'toolCall'>,
): readonly DraftRecord[] {
  const [slot, ...others] = message.slots;
  assertNotOfAgent(state, message);
  const open = findOpen(state, slot.id);
  const parts = convertContent(() => contentToParts(content));
  const isWhole = others.length === 0 && parts.length === 1 && message.item.parts.length === 1;
  // The code below calls `messageDrafts` only as a check. It throws if the log does not accept the content.
  const isSameAuthor = content.author === message.author;
  if (open !== undefined && isWhole && isSameAuthor && !isOpen) {
    messageDrafts(content, ids);
    return finishWith(message, open, parts[0]);
  }
  const isSameKind = isSameHead(messageRow(state, message).content, content);
  const appended =
    isOpen && isSameKind && open !== undefined ? appendText(open, content) : undefined;
  if (appended !== undefined) return appended;
  return replaceWith(state, message, content, isOpen, ids);
}

/**
 * Refuses to edit a part of a turn that the loop of an agent still writes, for example a result while another call
 * waits. The loop takes every part of its turns for its own: no input guardrail would check the text of the client,
 * and a call whose result is gone has no result.
 */
function assertNotOfAgent(state: FoldState, { id, item: { turn } }: LoggedMessage): void {
  const isOpen = (part: OpenPart) => attemptOf(part.id).turn === turn;
  const waits = [...state.asked, ...state.awaited].some((one) => one.turn === turn);
  if (turn === 0 || !(waits || state.open.some(isOpen))) return;
  const message = `Cannot edit message ${id}: the agent still writes its turn. Wait for the end of its turn, or answer its open calls`;
  throw new ServerError('bad_state', message);
}

function finishWith(
  { item, slots: [slot] }: LoggedMessage,
  { metadata }: OpenPart,
  part: ReturnType<typeof contentToParts>[0],
): readonly DraftRecord[] {
  const { turn, attempt, id: itemId } = item;
  const index = metadata?.['index'];
  const partMetadata = index === undefined ? part.metadata : { ...part.metadata, index };
  const whole = { ...part, ...(partMetadata && { metadata: partMetadata }) };
  return [
    {
      ...attemptOf(slot.id),
      delta: { type: 'commit_part', partId: slot.id, itemId, part: whole },
    },
    { turn, attempt, fact: { type: 'item_finished', itemId } },
  ];
}

/** Returns whether two contents are equal except for their text. */
function isSameHead(a: Content, b: Content): boolean {
  const other = new Map<string, unknown>(Object.entries(b));
  return Object.entries(a).every(
    ([key, value]) => key === 'content' || JSON.stringify(value) === JSON.stringify(other.get(key)),
  );
}

/**
 * Returns a record that appends the rest of the new text. Returns undefined if the new text does not start
 * with the old text.
 */
function appendText(open: OpenPart, content: Content): readonly DraftRecord[] | undefined {
  const { id: partId, begin, text } = open;
  if (begin.kind !== 'text' || content.type !== 'text') return undefined;
  if (!content.content.startsWith(text)) return undefined;
  const chunk = content.content.slice(text.length);
  if (chunk === '') return [];
  if (!chunk.isWellFormed()) return undefined;
  return [{ ...attemptOf(partId), delta: { type: 'append_text', partId, at: text.length, chunk } }];
}

function replaceWith(
  state: FoldState,
  message: LoggedMessage,
  content: Content,
  isOpen: boolean,
  ids: Pick<Ids, 'item' | 'part' | 'toolCall'>,
): readonly DraftRecord[] {
  const { id, item, slots } = message;
  const createdAt = messageRow(state, message).created_at;
  // The new item refers to the original item, so the message keeps its position among messages of the same
  // time. The original item remains without parts.
  const first = item.metadata?.['item'] ?? item.id;
  const metadata = { message: id, item: first, ...(createdAt !== null && { createdAt }) };
  const retracted = slots.map(
    (slot): DraftRecord => ({
      ...attemptOf(slot.id),
      delta: { type: 'retract_part', partId: slot.id, reason: 'edited' },
    }),
  );
  const isLast = item.finished === undefined && item.parts.length === slots.length;
  const finished: readonly DraftRecord[] =
    isLast && item.turn === 0
      ? [{ turn: 0, attempt: 0, fact: { type: 'item_finished', itemId: item.id } }]
      : [];
  return [...retracted, ...finished, ...messageDrafts(content, ids, { isOpen, metadata })];
}
