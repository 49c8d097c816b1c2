import type { DeltaWriter, RetractReason } from '@millrace/core';
import { isKeptWhenCut } from '../contract/cut-part.ts';

/** Closes what a cut response left open: what was said stays as partial, calls that are not whole go. */
export function closeParts(writer: DeltaWriter, reason: RetractReason): void {
  for (const part of writer.open) {
    const length = 'length' in part ? part.length : 0;
    if (isKeptWhenCut(part.kind, length)) part.commit({ partial: true });
    else part.retract(reason);
  }
}
