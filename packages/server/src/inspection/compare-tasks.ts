import {
  type DifferenceSide,
  diffSessions,
  type SessionDiff,
  type SessionDifference,
} from '@millrace/agent';
import type { Log } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';

/** Maximum number of records of a task that can be compared. */
const maxRecords = 250_000;

/** The limits of a reply. The page shows the text around the first difference. */
const limits = { maxDifferences: 200, maxTextLength: 8192 };

/** Compares two tasks by their logs. Throws `too_large` if one of them is too long. */
export async function compareTasks(log: Log, a: string, b: string): Promise<SessionDiff> {
  for (const task of [a, b]) {
    const { through = 0 } = (await log.info(task)) ?? {};
    if (through > maxRecords) {
      const message = `Cannot compare task ${task}: it has ${through} records, and the limit is ${maxRecords}. Use millrace diff`;
      throw new ServerError('too_large', message, { task });
    }
  }
  return diffSessions({ log, session: a }, { log, session: b }, limits);
}

/**
 * Returns a comparison without the instructions of branches. The comparison still names them as the cause.
 * Only tokens with full access can read instructions.
 */
export function withoutInstructions({ differences, ...diff }: SessionDiff): SessionDiff {
  const shown = differences.map(hideInstructions);
  return { ...diff, differences: shown, divergence: shown[0] };
}

function hideInstructions(difference: SessionDifference): SessionDifference {
  const { a, b, changes } = difference;
  if (a?.type !== 'branched' && b?.type !== 'branched') return difference;
  return {
    ...difference,
    a: a && hideValue(a, difference.field),
    b: b && hideValue(b, difference.field),
    changes: changes?.filter(({ path }) => path !== '/instructions'),
  };
}

function hideValue(side: DifferenceSide, field: string): DifferenceSide {
  if (side.type !== 'branched') return side;
  const { value, ...rest } = side;
  if (field === 'instructions') return rest;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return side;
  return {
    ...rest,
    value: Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'instructions')),
  };
}

/** Returns the task that a task was forked from. */
export async function originOf(log: Log, task: string): Promise<string> {
  const origin = (await log.info(task))?.origin;
  if (origin !== undefined) return origin.session;
  const message = `Cannot compare task ${task}: it is not a branch. Name the other task with other`;
  throw new ServerError('invalid', message, { task });
}
