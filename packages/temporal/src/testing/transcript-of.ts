import { type SessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';

/** The texts of a session, as they are at last. */
export async function textsOf(log: Log, session: SessionId): Promise<readonly string[]> {
  return transcript(await snapshot(log, session)).flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part ? [part.text] : [])),
  );
}
