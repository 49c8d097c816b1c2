import type { LogRecord } from '@millrace/core';

/** By halving: records are in the order of their offsets, with holes where turns were settled. */
export function firstAfter(records: readonly LogRecord[], offset: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((records[middle]?.offset ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
