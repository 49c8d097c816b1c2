import type { Attempt, DraftRecord, ItemId, Stop, Usage } from '@millrace/core';

/** The end of a response, on the log. */
export function responseFinished(
  { turn, attempt }: Attempt,
  itemId: ItemId,
  stop: Stop,
  usage: Usage,
): DraftRecord {
  return { turn, attempt, fact: { type: 'response_finished', itemId, stop, usage } };
}
