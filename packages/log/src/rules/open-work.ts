import type { LogRecord } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';

/** The row with what its records begin and finish: so one can tell whether work waits without a fold. */
export function withWork(row: SessionRow, records: readonly LogRecord[]): SessionRow {
  let { openRuns, openTurns, queuedCommands } = row;
  for (const { fact } of records) {
    switch (fact?.type) {
      case 'run_started':
        openRuns++;
        break;
      case 'run_finished':
        openRuns--;
        break;
      case 'turn_started':
        openTurns++;
        break;
      case 'turn_finished':
        openTurns--;
        break;
      case 'command_queued':
        queuedCommands++;
        break;
      case 'command_consumed':
        queuedCommands--;
        break;
      default:
    }
  }
  return { ...row, openRuns, openTurns, queuedCommands };
}

export function hasWork({ isClosed, openRuns, openTurns, queuedCommands }: SessionRow): boolean {
  return !isClosed && (openRuns > 0 || openTurns > 0 || queuedCommands > 0);
}

/** Does nothing go on that a reader would wait for? */
export function isIdle({ openRuns, openTurns }: SessionRow): boolean {
  return openRuns <= 0 && openTurns <= 0;
}
