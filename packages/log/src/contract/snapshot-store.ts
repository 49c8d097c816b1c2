/**
 * Stores snapshots of folded sessions beside their records. A snapshot only saves time. If a snapshot is
 * missing or damaged, a program folds the records instead. Programs do not call this interface, but use
 * `sessionStates`, which writes and reads snapshots.
 */
export interface SnapshotStore {
  /**
   * Reads the parts in order, starting with the number `from`, up to about `maxBytes`. Returns at least one
   * part if there is one.
   */
  read(session: string, options: SnapshotReadOptions): Promise<readonly SnapshotPart[]>;
  /**
   * Replaces part 0 and all parts whose number is `first` or higher. Returns false and writes nothing if the
   * session has a different incarnation, or if content was redacted after the offset `through`.
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

/**
 * A part of a stored snapshot. Part 0 changes with each snapshot. The other parts usually stay, and each
 * snapshot adds new parts.
 */
export interface SnapshotPart {
  readonly part: number;
  readonly body: string;
}

/** The snapshot that `SnapshotStore.write` stores. */
export interface SnapshotWrite {
  /** The incarnation of the session, from `SessionInfo`. */
  readonly incarnation: string;
  /** The offset of the last record in the snapshot. */
  readonly through: number;
  /** The number of the first replaced part, at least 1. Part 0 is always replaced. */
  readonly first: number;
  /** The new parts. */
  readonly parts: readonly SnapshotPart[];
}
