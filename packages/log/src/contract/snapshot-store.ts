/**
 * Stores snapshots of folded sessions beside their records. A snapshot saves time and nothing else: a
 * program that finds none, or a damaged one, folds the records. Use `sessionStates`, which writes and
 * reads them.
 */
export interface SnapshotStore {
  /**
   * Reads the parts from the number `from` on, in order, up to about `maxBytes`. Returns at least one
   * part if there is one.
   */
  read(session: string, options: SnapshotReadOptions): Promise<readonly SnapshotPart[]>;
  /**
   * Replaces part 0 and all parts from the number `first` on. Returns false and writes nothing if the
   * session has another incarnation, or if content was redacted after the offset `through`.
   */
  write(session: string, snapshot: SnapshotWrite): Promise<boolean>;
}

/** Options of `SnapshotStore.read`. */
export interface SnapshotReadOptions {
  /** The number of the first part. */
  readonly from: number;
  /** Approximate maximum size of the parts together. */
  readonly maxBytes: number;
}

/** A part of a stored snapshot. Part 0 changes with each snapshot. The others are only added. */
export interface SnapshotPart {
  readonly part: number;
  readonly body: string;
}

/** What `SnapshotStore.write` stores. */
export interface SnapshotWrite {
  /** The incarnation of the session, from `SessionInfo`. */
  readonly incarnation: string;
  /** The offset of the last record in the snapshot. */
  readonly through: number;
  /** The number of the first part that is replaced, besides part 0. At least 1. */
  readonly first: number;
  /** The new parts. */
  readonly parts: readonly SnapshotPart[];
}
