import type { SessionId } from '@millrace/core';
import type {
  SnapshotPart,
  SnapshotReadOptions,
  SnapshotStore,
  SnapshotWrite,
} from '../contract/snapshot-store.ts';
import { incarnationText } from '../storage/incarnation.ts';
import type { LogReader, StoreTransaction } from '../storage/record-store.ts';
import type { LogContext } from './log-context.ts';

/**
 * Before a snapshot is written, at most this number of later records is searched for a redaction. If there
 * are more later records, the snapshot is not written.
 */
const maxRecordsAfter = 2000;

type SnapshotParts = NonNullable<LogReader['snapshotParts']>;

/** Reads and writes the snapshots in the store of a log. */
class StoredSnapshots implements SnapshotStore {
  readonly #context: LogContext;
  readonly #parts: SnapshotParts;

  constructor(context: LogContext, parts: SnapshotParts) {
    this.#context = context;
    this.#parts = parts;
  }

  async read(
    session: SessionId,
    { from, maxBytes }: SnapshotReadOptions,
  ): Promise<readonly SnapshotPart[]> {
    this.#context.commits.assertOpen();
    return this.#parts(session, from, maxBytes);
  }

  async write(session: SessionId, snapshot: SnapshotWrite): Promise<boolean> {
    const { first, parts } = snapshot;
    return this.#context.commits.run((tx) => {
      if (!this.#isCurrent(tx, session, snapshot)) return false;
      tx.putSnapshotParts?.(session, first, parts);
      return true;
    });
  }

  /**
   * Returns whether the snapshot may still be stored. A redaction deletes the stored snapshot. A state from
   * before the redaction must therefore not be stored later, because it still has the removed content.
   */
  #isCurrent(
    tx: StoreTransaction,
    session: SessionId,
    { incarnation, through }: SnapshotWrite,
  ): boolean {
    const row = tx.session(session);
    if (row === undefined || incarnationText(row) !== incarnation) return false;
    if (row.through < through || row.through - through > maxRecordsAfter) return false;
    const since = this.#context.recordsBetween(tx, session, through, row.through);
    return !since.some(({ fact }) => fact?.type === 'item_redacted');
  }
}

/** Returns the snapshots of a log, or undefined if its store cannot store snapshots. */
export function snapshotsOf(context: LogContext): SnapshotStore | undefined {
  const { reader } = context;
  const parts = reader.snapshotParts?.bind(reader);
  return parts && new StoredSnapshots(context, parts);
}
