import type { Stop } from '@millrace/core';

/** The request was longer than the model takes. */
export function isOverflow(stop: Stop | undefined): boolean {
  return stop?.reason === 'error' && stop.cause === 'context_overflow';
}
