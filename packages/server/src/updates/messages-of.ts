import { type FoldState, toArray } from '@millrace/core';
import type { TaskMessage } from '../contract/message.ts';
import { editedId, findPlace, isTold, type MessagePlace, placesOf } from './message-place.ts';
import { rowOf } from './message-row.ts';

/** All messages of a task, oldest first; those that stream with what they have so far. */
export function messagesOf(state: FoldState): readonly TaskMessage[] {
  const items = toArray(state.items);
  const edits = new Map(items.map((item) => [editedId(item), item.id]));
  const counts = ({ id, item }: MessagePlace) => (edits.get(id) ?? item.id) === item.id;
  const rows = items
    .flatMap((item) => placesOf(state, item))
    .filter((place) => counts(place) && isTold(state, place))
    .map((place) => rowOf(state, place));
  return rows.sort(byCreation);
}

export function messageOf(state: FoldState, id: string): TaskMessage | undefined {
  const place = findPlace(state, id);
  return place === undefined || !isTold(state, place) ? undefined : rowOf(state, place);
}

/** Those of one time stay as the log has them. */
function byCreation({ created_at: a }: TaskMessage, { created_at: b }: TaskMessage): number {
  if (a === b || a === null || b === null) return 0;
  return a < b ? -1 : 1;
}
