import { moveDelta } from './move-delta.ts';
import type { StreamItem, StreamStep } from './provider.ts';

/**
 * Steps that were recorded, as if they had been streamed for this item and attempt: for a wrapper
 * that answers from a cache. Whatever they were recorded for, they fold to the same parts.
 */
export function moveSteps(steps: readonly StreamStep[], item: StreamItem): readonly StreamStep[] {
  return steps.map((step) => ({
    ...step,
    deltas: step.deltas.map((delta) => moveDelta(delta, item)),
  }));
}
