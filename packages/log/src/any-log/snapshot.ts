import { type Batch, Folder, type FoldState, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { isInsideSettled } from '../storage/record-list.ts';
import { readPages, requireSessionInfo, unfoldableError } from './read-session.ts';
import { sessionStates } from './session-states.ts';

/** Options of `snapshot`. */
export interface SnapshotOptions {
  /** Offset of the last record to include. Default: the session's last record. */
  readonly through?: number | undefined;
}

/**
 * Folds a session and returns its state at its last record. With `through`, it returns the state at an
 * earlier record, while the deltas of that record are still stored. To continue from this state, call
 * `follow` with `{ from: state.through }`.
 *
 * @example transcript(await snapshot(log, session));
 */
export async function snapshot(
  log: Log,
  id: string,
  options: SnapshotOptions = {},
): Promise<FoldState> {
  const session = sessionId(id);
  if (options.through === undefined) return (await sessionStates(log).load(session)).state;
  const info = await requireSessionInfo(log, session);
  const { through } = options;
  const isThere = Number.isInteger(through) && through >= 0 && through <= info.through;
  if (!isThere) throw badOffset(session, through, `its offsets are 0 to ${info.through}`);
  const folder = new Folder(session);
  for await (const page of readPages(log, { session, through })) {
    if (isInsideSettled(page.records, through))
      throw badOffset(session, through, 'it is inside a settled turn. Use the end of the turn');
    const { outcome } = folder.addBatch(truncateAt(page, through));
    if (outcome === 'gap') throw unfoldableError(session, folder.state.through);
  }
  return folder.state;
}

function truncateAt(page: Batch, through: number): Batch {
  if (page.through <= through) return page;
  const { after, records } = page;
  return { after, through, records: records.filter(({ offset }) => offset <= through) };
}

function badOffset(session: SessionId, offset: number, why: string): LogError {
  const message = `Cannot fold session ${session} up to offset ${offset}: ${why}`;
  return new LogError('bad_offset', message, { session, offset });
}
