import {
  attemptOf,
  type DraftRecord,
  type FoldState,
  findItem,
  type ItemId,
  type ItemState,
  type OpenPart,
  type Part,
  type Stop,
  toArray,
} from '@millrace/core';
import { contentSchema } from '../contract/content.ts';
import { partsOfContent } from '../updates/part-of-content.ts';

export interface Closing {
  /** What the items are finished with; none where they just come to their end. */
  readonly stop?: Stop | undefined;
  /** What was open was cut off. */
  readonly isCut: boolean;
  /** Of the whole turn unless told. */
  readonly itemId?: ItemId | undefined;
}

/** What ends everything of a turn that is still open, or one item of it, as far as it came. */
export function closingDrafts(
  state: FoldState,
  turn: number,
  { stop, isCut, itemId }: Closing,
): readonly DraftRecord[] {
  const isMeant = (id: ItemId) => itemId === undefined || itemId === id;
  const isIts = ({ id, begin }: OpenPart) => attemptOf(id).turn === turn && isMeant(begin.itemId);
  return [
    ...state.open.filter(isIts).map((part) => closedPart(state, part, isCut)),
    ...unfinished(state, turn)
      .filter(({ id }) => isMeant(id))
      .map((item) => finished(item, stop)),
  ];
}

function unfinished({ items }: FoldState, turn: number): readonly ItemState[] {
  return toArray(items).filter((item) => item.turn === turn && item.finished === undefined);
}

function closedPart(state: FoldState, open: OpenPart, isCut: boolean): DraftRecord {
  const { id: partId, begin, text, bytes, value } = open;
  const at = attemptOf(partId);
  const grows = begin.kind !== 'structured' && begin.kind !== 'custom';
  // Half a call is nothing, and what never had a value cannot be one.
  const isNothing = grows ? isCut && begin.kind === 'tool_call' : value === undefined;
  if (isNothing) return { ...at, delta: { type: 'retract_part', partId, reason: 'aborted' } };
  const { itemId } = begin;
  const preview = grows && text === '' ? previewOf(findItem(state, itemId), open) : undefined;
  if (preview !== undefined)
    return { ...at, delta: { type: 'commit_part', partId, itemId, part: preview } };
  const length = grows ? (bytes?.length ?? text.length) : 0;
  const partial = isCut ? ({ partial: true } as const) : {};
  return { ...at, delta: { type: 'commit_part', partId, length, ...partial } };
}

/** What the message was started with, where nothing came after it. */
function previewOf(item: ItemState | undefined, { metadata }: OpenPart): Part | undefined {
  const start = contentSchema.safeParse(item?.metadata?.['start']);
  if (!start.success || item === undefined || item.parts.length > 1) return undefined;
  return partsOfContent(start.data, metadata ?? {})[0];
}

function finished({ id, turn, attempt }: ItemState, stop: Stop | undefined): DraftRecord {
  const fact = { type: 'item_finished', itemId: id, ...(stop && { stop }) } as const;
  return { turn, attempt, fact };
}
