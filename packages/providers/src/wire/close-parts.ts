import type { DeltaWriter, RetractReason } from '@millrace/core';

/** Closes what a cut response left open: what was said stays as partial, calls that are not whole go. */
export function closeParts(writer: DeltaWriter, reason: RetractReason): void {
  for (const part of writer.open) {
    const isKept = part.kind === 'text' || part.kind === 'reasoning' || part.kind === 'media';
    if (isKept && part.length > 0) part.commit({ partial: true });
    else part.retract(reason);
  }
}
