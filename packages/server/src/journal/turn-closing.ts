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
import type { JournalTurn, TaskJournal } from '../contract/task-journal.ts';
import { contentToParts } from '../updates/content-parts.ts';
import type { JournalState } from './journal-state.ts';

/**
 * Closes the open parts and items of a turn. If the turn stopped normally, the parts are complete.
 * Otherwise they are partial.
 */
export async function closeTurn(
  journal: TaskJournal,
  turn: JournalTurn,
  stop: Stop,
): Promise<void> {
  const isInterrupted = stop.reason !== 'stop';
  const options = { isInterrupted, stop: isInterrupted ? stop : undefined };
  const drafts = closingDrafts(await journal.state(), turn.turn, options);
  if (drafts.length > 0) await turn.append(drafts);
}

/** Ends a turn after an error that the agent did not cause. It ignores errors of its own writes. */
export async function abandonTurn(journal: TaskJournal, turn: JournalTurn): Promise<void> {
  const stop: Stop = { reason: 'error', cause: 'failed' };
  try {
    await closeTurn(journal, turn, stop);
    await turn.finish(stop);
  } catch {
    // The error is ignored. The next driver of the session finds the unfinished turn and ends it.
  }
}

/** The stop of a run, turn or item whose process crashed. */
export const interrupted: Stop = { reason: 'aborted', cause: 'interrupted' };

/**
 * Returns the records that end unfinished work of a crashed process. Streamed content stays as partial
 * content. Queued commands stay in the queue. Messages outside of turns stay open until their writer closes
 * them.
 */
export function repairDrafts(
  state: FoldState,
  { turn }: Pick<JournalState, 'turn'>,
): readonly DraftRecord[] {
  const ofTurn = turn === undefined ? [] : closeTurnDrafts(state, turn);
  const { run: runId } = state;
  const ofRun: readonly DraftRecord[] =
    runId === undefined
      ? []
      : [{ turn: 0, attempt: 0, fact: { type: 'run_finished', runId, stop: interrupted } }];
  return [...ofTurn, ...ofRun];
}

function closeTurnDrafts(state: FoldState, turn: number): readonly DraftRecord[] {
  return [
    ...closingDrafts(state, turn, { stop: interrupted, isInterrupted: true }),
    { turn, attempt: 0, fact: { type: 'turn_finished', stop: interrupted } },
  ];
}

interface ClosingOptions {
  /** The stop reason of the closed items. Undefined if the turn ended normally. */
  readonly stop?: Stop | undefined;
  /** True if the open parts are incomplete. */
  readonly isInterrupted: boolean;
  /** If set, only this item is closed. Default: all items of the turn. */
  readonly itemId?: ItemId | undefined;
}

/** Returns the records that close all open parts and items of a turn, or of one item in the turn. */
export function closingDrafts(
  state: FoldState,
  turn: number,
  { stop, isInterrupted, itemId }: ClosingOptions,
): readonly DraftRecord[] {
  const isSelected = (id: ItemId) => itemId === undefined || itemId === id;
  const isOfTurn = ({ id, begin }: OpenPart) =>
    attemptOf(id).turn === turn && isSelected(begin.itemId);
  return [
    ...state.open.filter(isOfTurn).map((part) => closePart(state, part, isInterrupted)),
    ...unfinishedItems(state, turn)
      .filter(({ id }) => isSelected(id))
      .map((item) => finishItem(item, stop)),
  ];
}

function unfinishedItems({ items }: FoldState, turn: number): readonly ItemState[] {
  return toArray(items).filter((item) => item.turn === turn && item.finished === undefined);
}

function closePart(state: FoldState, open: OpenPart, isInterrupted: boolean): DraftRecord {
  const { id: partId, begin, text, bytes, value } = open;
  const at = attemptOf(partId);
  const grows = begin.kind !== 'structured' && begin.kind !== 'custom';
  // A tool call that was interrupted is retracted. A structured or custom part without a value is also
  // retracted.
  const isDropped = grows ? isInterrupted && begin.kind === 'tool_call' : value === undefined;
  if (isDropped) return { ...at, delta: { type: 'retract_part', partId, reason: 'aborted' } };
  const { itemId } = begin;
  const preview = grows && text === '' ? previewOf(findItem(state, itemId), open) : undefined;
  if (preview !== undefined)
    return { ...at, delta: { type: 'commit_part', partId, itemId, part: preview } };
  const length = grows ? (bytes?.length ?? text.length) : 0;
  const partial = isInterrupted ? ({ partial: true } as const) : {};
  return { ...at, delta: { type: 'commit_part', partId, length, ...partial } };
}

/** Returns the content of the message's `start` update. Returns undefined if the item has several parts. */
function previewOf(item: ItemState | undefined, { metadata }: OpenPart): Part | undefined {
  const start = contentSchema.safeParse(item?.metadata?.['start']);
  if (!start.success || item === undefined || item.parts.length > 1) return undefined;
  return contentToParts(start.data, metadata ?? {})[0];
}

function finishItem({ id, turn, attempt }: ItemState, stop: Stop | undefined): DraftRecord {
  const fact = { type: 'item_finished', itemId: id, ...(stop && { stop }) } as const;
  return { turn, attempt, fact };
}
