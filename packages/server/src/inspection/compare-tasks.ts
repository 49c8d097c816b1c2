import { diffSessions, type SessionDiff } from '@millrace/agent';
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

/** Returns the task that a task was forked from. */
export async function originOf(log: Log, task: string): Promise<string> {
  const origin = (await log.info(task))?.origin;
  if (origin !== undefined) return origin.session;
  const message = `Cannot compare task ${task}: it is not a branch. Name the other task with other`;
  throw new ServerError('invalid', message, { task });
}
