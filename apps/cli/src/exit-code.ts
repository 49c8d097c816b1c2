import type { Stop } from '@millrace/core';

/** What the command tells whoever started it. Scripts rely on them: they do not change. */
export const exitCodes = { done: 0, error: 1, usage: 2, aborted: 3, parked: 4, limit: 5 } as const;

/** How a run ended, as a number. */
export function exitCodeOf(stop: Stop): number {
  switch (stop.reason) {
    case 'stop':
      return exitCodes.done;
    case 'length':
    case 'limit':
      return exitCodes.limit;
    case 'aborted':
      return exitCodes.aborted;
    case 'parked':
      return exitCodes.parked;
    case 'content_filter':
    case 'refusal':
    case 'error':
    case 'unknown':
    // A run does not end with these; one that did would not be done.
    case 'tool_use':
    case 'pause':
      return exitCodes.error;
  }
}
