import {
  type AppendText,
  type CommitBuilt,
  type CommitWhole,
  type Delta,
  type FoldState,
  findItem,
  findItemOfPart,
  findOpen,
  type LogRecord,
  type OpenPart,
  type PartId,
} from '@millrace/core';
import type { TaskMessage, Update } from '../contract/message.ts';
import type { Frame, FrameView } from '../contract/stream.ts';
import { styleOf, textHeadOf } from './content-parts.ts';
import { deltaOf, endsAsItStreamed, reopened } from './delta-update.ts';
import {
  indexOfPlace,
  isEdited,
  isOpenPlace,
  isTold,
  itemsOfTurn,
  type MessagePlace,
  openPartsOf,
  placeOfPart,
  placesOf,
} from './logged-message.ts';
import { rowOf, startOf, withdrawnOf } from './task-messages.ts';

/** The log as task-message updates, one a frame. */
export const updatesView: FrameView = {
  name: 'updates',
  frames: (before, record, after) => {
    const updates = updatesOf(before, record, after);
    // The last one of a record is named by it alone: who has that one has all of the record.
    const idOf = (k: number) => (k === updates.length - 1 ? '' : `.${k}`);
    return updates.map(({ update, k }) => ({
      id: `${record.offset}${idOf(k)}`,
      data: lineOf(update),
    }));
  },
  restate: (state) => restatement(state).map((update) => ({ data: lineOf(update) })),
};

// All deltas of a message refer to one row, which is most of what they say.
const rows = new WeakMap<TaskMessage, string>();

function lineOf(update: Update): string {
  const { parent_task_message: row } = update;
  if (update.type !== 'delta' || row === null) return JSON.stringify(update);
  const known = rows.get(row) ?? JSON.stringify(row);
  rows.set(row, known);
  const delta = JSON.stringify(update.delta);
  return `{"type":"delta","index":${update.index},"parent_task_message":${known},"delta":${delta}}`;
}

/** What every stream of updates begins with. */
export function connectedFrame({ session }: Pick<FoldState, 'session'>): Frame {
  return { data: JSON.stringify({ type: 'connected', taskId: session }) };
}

/** The k-th update of a record. */
interface NumberedUpdate {
  readonly update: Update;
  readonly k: number;
}

/** What a record is to those who know updates only. */
export function updatesOf(
  before: FoldState,
  record: LogRecord,
  after: FoldState,
): readonly NumberedUpdate[] {
  if (before === after) return [];
  const { delta } = record;
  const updates =
    delta === undefined ? ofFact(before, record, after) : ofDelta(before, delta, after);
  return updates.map((update, k) => ({ update, k }));
}

/** What streams now, for somebody who comes in: each as its start, and one delta with all of it. */
export function restatement(state: FoldState): readonly Update[] {
  const items = new Set(state.open.map(({ begin }) => begin.itemId));
  return [...items]
    .flatMap((id) => placesOf(state, findItem(state, id)))
    .filter((place) => isOpenPlace(place) && isTold(state, place))
    .flatMap((place) => restated(state, place));
}

function ofDelta(before: FoldState, delta: Delta, after: FoldState): readonly Update[] {
  if (delta.type === 'unknown') return [];
  const { partId } = delta;
  if (delta.type === 'retract_part') {
    return changes(before, after, [findItemOfPart(before, partId)?.id]);
  }
  const open = findOpen(before, partId);
  // Most of a log is this, and it changes no item.
  if (delta.type === 'append_text' && open !== undefined) {
    const grows = placeOfPart(placesOf(before, findItem(before, open.begin.itemId)), partId);
    if (grows !== undefined && isTold(before, grows)) return grown(open, delta, after, grows);
  }
  const item = findItemOfPart(after, partId);
  const place = placeOfPart(placesOf(after, item), partId);
  if (place === undefined) return [];
  if (delta.type === 'commit_part') return ofCommit(before, delta, after, place);
  const was = placesOf(before, findItem(before, place.item.id)).find(({ id }) => id === place.id);
  if (was === undefined || !isTold(before, was)) {
    return isTold(after, place) ? restated(after, place) : [];
  }
  if (delta.type === 'begin_part') {
    // Who came in when the block was whole was told nothing of it, and has to have all of it.
    return isOpenPlace(was) ? entered(after, place, partId) : fullOf(after, place);
  }
  return delta.type === 'set_metadata' ? reshaped(before, after, place, partId) : [];
}

/** One more entry of a block. */
function entered(state: FoldState, place: MessagePlace, partId: PartId): readonly Update[] {
  const open = findOpen(state, partId);
  return open === undefined ? [] : [reopened(state, place, open)];
}

function restated(state: FoldState, place: MessagePlace): readonly Update[] {
  const row = startOf(state, place);
  const head = { index: indexOfPlace(state, place), parent_task_message: row };
  const start: Update = { type: 'start', ...head, content: row.content };
  const committed = place.slots.filter(({ part }) => part !== undefined);
  // A block of which some entries are whole already cannot be told from its start.
  if (committed.length > 0) return [...fullOf(state, place)];
  const deltas = openPartsOf(state, place).flatMap((open) =>
    open.text === '' ? [] : deltaOf(state, place, open, open.text),
  );
  return [start, ...deltas];
}

function grown(
  open: OpenPart,
  { at, chunk }: AppendText,
  after: FoldState,
  place: MessagePlace,
): readonly Update[] {
  return deltaOf(after, place, open, chunk.slice(open.text.length - at));
}

/** What was told of its format, style or attachments is not so: it is told again, as far as it is. */
function reshaped(
  before: FoldState,
  after: FoldState,
  place: MessagePlace,
  partId: PartId,
): readonly Update[] {
  const open = findOpen(after, partId);
  const isSame = shapeOf(findOpen(before, partId)) === shapeOf(open);
  const isProse = open?.begin.kind === 'text' && open.begin.mimeType === undefined;
  return isSame || !isProse || !isOpenPlace(place) ? [] : fullOf(after, place);
}

function shapeOf(open: OpenPart | undefined): string {
  const metadata = open?.metadata;
  return JSON.stringify([styleOf(metadata), textHeadOf(metadata)]);
}

function ofCommit(
  before: FoldState,
  delta: CommitBuilt | CommitWhole,
  after: FoldState,
  place: MessagePlace,
): readonly Update[] {
  const { partId } = delta;
  const open = findOpen(before, partId);
  const known = open && placeOfPart(placesOf(before, findItem(before, open.begin.itemId)), partId);
  if (delta.part !== undefined || known === undefined || !isTold(before, known)) {
    return changes(before, after, [place.item.id]);
  }
  if (isOpenPlace(place)) return [];
  if (!endsAsItStreamed(place)) return fullOf(after, place);
  const head = { index: indexOfPlace(after, place), parent_task_message: rowOf(after, place) };
  return [{ type: 'done', ...head }];
}

function ofFact(before: FoldState, { fact, turn }: LogRecord, after: FoldState): readonly Update[] {
  switch (fact?.type) {
    case 'item_redacted':
      return changes(before, after, [fact.itemId]);
    case 'attempt_superseded':
    case 'snapshot':
      return changes(
        before,
        after,
        itemsOfTurn(before, turn).map(({ id }) => id),
      );
    default:
      return [];
  }
}

/** What is gone is withdrawn, and what is not as it was is told in full. */
function changes(
  before: FoldState,
  after: FoldState,
  itemIds: readonly (Parameters<typeof findItem>[1] | undefined)[],
): readonly Update[] {
  const ids = itemIds.filter((id) => id !== undefined);
  const old = ids.flatMap((id) => placesOf(before, findItem(before, id)));
  const now = ids.flatMap((id) => placesOf(after, findItem(after, id)));
  const gone = old.filter(
    (place) =>
      isTold(before, place) && !now.some(({ id }) => id === place.id) && !isEdited(after, place),
  );
  const changed = now.filter(
    (place) => isTold(after, place) && !old.some((was) => isSamePlace(was, place)),
  );
  return [
    ...gone.flatMap((place) => withdrawn(before, place)),
    ...changed.flatMap((place) => {
      const isNew = isOpenPlace(place) && !old.some(({ id }) => id === place.id);
      return isNew ? restated(after, place) : fullOf(after, place);
    }),
  ];
}

/** The fold leaves what did not change as it was, and so it need not be compared. */
function isSamePlace(a: MessagePlace, b: MessagePlace): boolean {
  const isSameSlot = (slot: MessagePlace['slots'][number], at: number) => slot === b.slots[at];
  return a.id === b.id && a.slots.length === b.slots.length && a.slots.every(isSameSlot);
}

function fullOf(state: FoldState, place: MessagePlace): readonly Update[] {
  const row = rowOf(state, place);
  const head = { index: indexOfPlace(state, place), parent_task_message: row };
  const full: Update = { type: 'full', ...head, content: row.content };
  const [open] = openPartsOf(state, place);
  return open === undefined ? [full] : [full, reopened(state, place, open)];
}

function withdrawn(state: FoldState, place: MessagePlace): readonly Update[] {
  const row = withdrawnOf(state, place);
  const head = { index: indexOfPlace(state, place), parent_task_message: row };
  return [{ type: 'full', ...head, content: row.content, retracted: true }];
}
