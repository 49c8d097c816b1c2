import {
  attemptOf,
  type DraftRecord,
  type FoldState,
  findOpen,
  type Ids,
  type OpenPart,
} from '@millrace/core';
import type { Content } from '../contract/content.ts';
import { partsOfContent } from '../updates/content-parts.ts';
import { findPlace, type MessagePlace } from '../updates/logged-message.ts';
import { rowOf } from '../updates/task-messages.ts';
import { messageDrafts, takeContent } from './message-drafts.ts';

interface Edit {
  readonly id: string;
  readonly content: Content;
  /** It goes on streaming. */
  readonly isOpen: boolean;
}

/**
 * What makes a message say something else. One that streams, of one part, is finished with it; what
 * was said already is taken back, and something new is shown under its id and its time. Undefined where
 * there is no such message.
 */
export function editDrafts(
  state: FoldState,
  { id, content, isOpen }: Edit,
  ids: Pick<Ids, 'item' | 'part' | 'toolCall'>,
): readonly DraftRecord[] | undefined {
  const place = findPlace(state, id);
  if (place === undefined) return undefined;
  const [slot, ...others] = place.slots;
  const open = findOpen(state, slot.id);
  const parts = takeContent(() => partsOfContent(content));
  const isWhole = others.length === 0 && parts.length === 1 && place.item.parts.length === 1;
  // Written once for nobody, so that what no log would take is refused here.
  const isSameAuthor = content.author === place.author;
  if (open !== undefined && isWhole && isSameAuthor && !isOpen) {
    messageDrafts(content, ids);
    return finishing(place, open, parts[0]);
  }
  const isAlike = isSameHead(rowOf(state, place).content, content);
  const added = isOpen && isAlike && open !== undefined ? addedText(open, content) : undefined;
  if (added !== undefined) return added;
  return replacing(state, place, content, isOpen, ids);
}

function finishing(
  { item, slots: [slot] }: MessagePlace,
  { metadata }: OpenPart,
  part: ReturnType<typeof partsOfContent>[0],
): readonly DraftRecord[] {
  const { turn, attempt, id: itemId } = item;
  const index = metadata?.['index'];
  const kept = index === undefined ? part.metadata : { ...part.metadata, index };
  const whole = { ...part, ...(kept && { metadata: kept }) };
  return [
    {
      ...attemptOf(slot.id),
      delta: { type: 'commit_part', partId: slot.id, itemId, part: whole },
    },
    { turn, attempt, fact: { type: 'item_finished', itemId } },
  ];
}

/** Is all of it the same but what it says? */
function isSameHead(a: Content, b: Content): boolean {
  const other = new Map<string, unknown>(Object.entries(b));
  return Object.entries(a).every(
    ([key, value]) => key === 'content' || JSON.stringify(value) === JSON.stringify(other.get(key)),
  );
}

/** Text that goes on where it was. */
function addedText(open: OpenPart, content: Content): readonly DraftRecord[] | undefined {
  const { id: partId, begin, text } = open;
  if (begin.kind !== 'text' || content.type !== 'text') return undefined;
  if (!content.content.startsWith(text)) return undefined;
  const chunk = content.content.slice(text.length);
  if (chunk === '') return [];
  if (!chunk.isWellFormed()) return undefined;
  return [{ ...attemptOf(partId), delta: { type: 'append_text', partId, at: text.length, chunk } }];
}

function replacing(
  state: FoldState,
  place: MessagePlace,
  content: Content,
  isOpen: boolean,
  ids: Pick<Ids, 'item' | 'part' | 'toolCall'>,
): readonly DraftRecord[] {
  const { id, item, slots } = place;
  const createdAt = rowOf(state, place).created_at;
  // In its place among those of the same time, too: the item that had it first stays, without parts.
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
