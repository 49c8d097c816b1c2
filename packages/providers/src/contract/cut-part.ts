import type { Delta, PartId, PartKind, RetractReason } from '@millrace/core';

/** Does a part that was cut off in the middle stay, as partial? What was said does; half a call or value is nothing. */
export function isKeptWhenCut(kind: PartKind, length: number): boolean {
  return (kind === 'text' || kind === 'reasoning' || kind === 'media') && length > 0;
}

/** The delta that closes an open part of a response that was cut off. */
export function cutPart(
  partId: PartId,
  kind: PartKind,
  length: number,
  reason: RetractReason,
): Delta {
  return isKeptWhenCut(kind, length)
    ? { type: 'commit_part', partId, length, partial: true }
    : { type: 'retract_part', partId, reason };
}
