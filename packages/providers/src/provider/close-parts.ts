import type { Delta, DeltaWriter, PartId, PartKind, RetractReason } from '@millrace/core';

/**
 * Closes the open parts of a response that was cut off. Text, reasoning and media are committed as
 * partial. Incomplete calls and values are retracted.
 *
 * @example
 * closeParts(writer, signal?.aborted ? 'aborted' : 'cut');
 * yield { deltas: writer.take(), end };
 */
export function closeParts(writer: DeltaWriter, reason: RetractReason): void {
  for (const part of writer.open) {
    const length = 'length' in part ? part.length : 0;
    if (isKeptWhenCut(part.kind, length)) part.commit({ partial: true });
    else part.retract(reason);
  }
}

/**
 * Returns whether a part that was cut off is kept as a partial part. An incomplete call or value is useless.
 */
function isKeptWhenCut(kind: PartKind, length: number): boolean {
  return (kind === 'text' || kind === 'reasoning' || kind === 'media') && length > 0;
}

/** Returns the delta that closes an open part of a response that was cut off. */
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
