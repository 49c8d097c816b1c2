import { rmSync } from 'node:fs';
import { isMillraceError, sessionId } from '@millrace/core';
import { sqliteLog } from '../../sqlite/sqlite-log.ts';
import { markers } from '../../suite/drafts.ts';
import { sendToParent } from '../start-process.ts';

// This program appends to a session until an append fails. Then it reports the number of stored records.
// Usage: append-until-full.ts <file> <file that fills the disk>.
/** The outcome. A failure contains the number of records that were stored. */
export type AttemptResult =
  | { readonly done: number }
  | { readonly failed: string; readonly message: string; readonly after: number };

const [path = '', ballast] = process.argv.slice(2);
const session = sessionId('s');

/** Appends this many times, or until an append fails. */
async function attempt(rounds: number): Promise<AttemptResult> {
  let after = 0;
  try {
    const log = sqliteLog({ path, busyTimeoutMs: 0 });
    try {
      const driver = await log.open(session, { takeOver: true });
      after = (await driver.append([])).through;
      for (let round = 0; round < rounds; round++)
        after = (await driver.append(markers(20, 'x'.repeat(500)))).through;
      return { done: (await log.read(session, { maxBytes: Number.POSITIVE_INFINITY })).through };
    } finally {
      await log.close();
    }
  } catch (error) {
    const failed = isMillraceError(error) ? error.code : String(error);
    return { failed, message: error instanceof Error ? error.message : '', after };
  }
}

if (ballast === undefined) sendToParent(await attempt(1));
else {
  sendToParent(await attempt(10_000));
  rmSync(ballast);
  sendToParent(await attempt(1));
}
