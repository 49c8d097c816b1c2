import {
  copiedRecords,
  diffSessions,
  findDivergence,
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
  await assertComparable(log, [a, b], 0);
  return diffSessions({ log, session: a }, { log, session: b }, limits);
}

/**
 * Finds the first difference of two tasks. Throws `too_large` if one of them has too many records that it
 * does not share with the other one.
 */
export async function divergenceOf(
  log: Log,
  a: string,
  b: string,
): Promise<SessionDifference | undefined> {
  const [one, other] = [
    { log, session: a },
    { log, session: b },
  ];
  await assertComparable(log, [a, b], await copiedRecords(one, other));
  return findDivergence(one, other, { maxTextLength: limits.maxTextLength });
}

async function assertComparable(log: Log, tasks: readonly string[], shared: number): Promise<void> {
  for (const task of tasks) {
    const { through = 0 } = (await log.info(task)) ?? {};
    const count = through - shared;
    if (count <= maxRecords) continue;
    const message = `Cannot compare task ${task}: ${count} of its records must be compared, and the limit is ${maxRecords}. Use millrace diff`;
    throw new ServerError('too_large', message, { task });
  }
}

/** Returns the task that a task was forked from. */
export async function originOf(log: Log, task: string): Promise<string> {
  const origin = (await log.info(task))?.origin;
  if (origin !== undefined) return origin.session;
  const message = `Cannot compare task ${task}: it is not a branch. Name the other task with other`;
  throw new ServerError('invalid', message, { task });
}
