import type { LogRecord } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';

/** The row with the runs and turns that its records begin and finish: so nobody needs a fold to tell. */
export function withWork(row: SessionRow, records: readonly LogRecord[]): SessionRow {
  let { openWork } = row;
  for (const { fact, turn } of records) {
    switch (fact?.type) {
      case 'run_started':
        openWork = [...without(openWork, `run ${fact.runId}`), `run ${fact.runId}`];
        break;
      case 'run_finished':
        openWork = without(openWork, `run ${fact.runId}`);
        break;
      case 'turn_started':
        openWork = [...without(openWork, `turn ${turn}`), `turn ${turn}`];
        break;
      case 'turn_finished':
        openWork = without(openWork, `turn ${turn}`);
        break;
      default:
    }
  }
  return openWork === row.openWork ? row : { ...row, openWork };
}

function without(work: readonly string[], done: string): readonly string[] {
  return work.filter((one) => one !== done);
}

export function hasWork({ isClosed, openWork, queuedCommands }: SessionRow): boolean {
  return !isClosed && (openWork.length > 0 || queuedCommands > 0);
}

/** Does nothing go on that a reader would wait for? */
export function isIdle({ openWork }: SessionRow): boolean {
  return openWork.length === 0;
}
