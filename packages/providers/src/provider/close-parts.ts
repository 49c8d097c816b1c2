import type { Delta, DeltaWriter, PartId, PartKind, RetractReason } from '@millrace/core';

/** Closes what a cut response left open: what was said stays as partial, calls that are not whole go. */
export function closeParts(writer: DeltaWriter, reason: RetractReason): void {
  for (const part of writer.open) {
    const length = 'length' in part ? part.length : 0;
    if (isKeptWhenCut(part.kind, length)) part.commit({ partial: true });
    else part.retract(reason);
  }
}

/** Does a part that was cut off in the middle stay, as partial? What was said does; half a call or value is nothing. */
function isKeptWhenCut(kind: PartKind, length: number): boolean {
  return (kind === 'text' || kind === 'reasoning' || kind === 'media') && length > 0;
}

/** The delta that closes an open part of a response that was cut off. */
export function closeCutPart(
  partId: PartId,
  kind: PartKind,
  length: number,
  reason: RetractReason,
): Delta {
  return isKeptWhenCut(kind, length)
    ? { type: 'commit_part', partId, length, partial: true }
    : { type: 'retract_part', partId, reason };
}
