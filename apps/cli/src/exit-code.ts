import type { Stop } from '@millrace/core';

/** The exit codes of the command. They never change, because scripts rely on them. */
export const exitCodes = { done: 0, error: 1, usage: 2, aborted: 3, parked: 4, limit: 5 } as const;

/** Returns the exit code for the stop reason of a run. */
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
    case 'blocked':
    case 'error':
    case 'unknown':
    // A finished run never has these stop reasons. If one occurred, the run would be incomplete.
    case 'tool_use':
    case 'pause':
      return exitCodes.error;
  }
}
