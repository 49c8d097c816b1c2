import type { Batch, DraftRecord, JsonObject, LogRecord, SessionId } from '@millrace/core';
import type { BlobStore } from './blob-store.ts';
import type { Admission, AdmitOptions, Producer } from './producer.ts';
import type { SessionFilter, SessionInfo } from './session-info.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/** Stores sessions. Each session is a sequence of records that the store numbers from 1 without gaps. */
export interface Log {
  /** Large binary content beside the records. */
  readonly blobs: BlobStore;

  /**
   * Stored snapshots of folded sessions. Default: none. Every state is then folded from the first
   * record, unless the process still has it.
   */
  readonly snapshots?: SnapshotStore | undefined;

  /**
   * Takes the lease of a session and returns its driver. The session is created if it does not exist.
   * Throws `held` if another driver holds the lease.
   */
  open(session: string, options?: OpenOptions): Promise<Driver>;

  /** Opens an admission for writing. This fences the producer that opened it before. */
  produce(admission: Admission): Promise<Producer>;

  /**
   * Queues a command for the session's driver. It needs no lease. A key that was used before has no
   * effect and returns the offset of the existing command.
   */
  submit(session: string, command: JsonObject, key: string): Promise<SubmitResult>;

  /**
   * Finds a command by the key that it was submitted with. Returns `undefined` if no command of the
   * session has this key. It reads an index, so its cost does not depend on the session's length.
   */
  findCommand(session: string, key: string): Promise<FoundCommand | undefined>;

  /** Reads the records after an offset, up to a size limit. */
  read(session: string, options?: ReadOptions): Promise<Batch>;

  /**
   * Reads all records after an offset and then continues with new ones, without gaps or overlaps. The
   * cursor is a batch's `through`. Nothing starts before the first batch is requested, and the reader
   * can stop at any time. Invalid options throw immediately.
   */
  follow(session: string, options?: FollowOptions): AsyncIterable<Batch>;

  /** Returns what is known about a session, or `undefined` if it does not exist. */
  info(session: string): Promise<SessionInfo | undefined>;

  /** Lists sessions in the order of their ids. */
  list(filter?: SessionFilter): Promise<readonly SessionInfo[]>;

  /**
   * Replaces the deltas of a finished turn with a snapshot. Returns false if the turn is not finished
   * or is already settled. Without `within`, it searches the whole session for the turn.
   */
  settle(session: string, turn: number, options?: SettleOptions): Promise<boolean>;

  /** Copies a session up to an offset into a new session, which keeps a reference to its origin. */
  fork(session: string, options: ForkOptions): Promise<SessionInfo>;

  /**
   * Creates a session from records that already have offsets. It stores all of them, or none if the
   * session exists. The records are not validated; `importSession` does that.
   */
  restore(
    session: string,
    records: readonly LogRecord[],
    options?: RestoreOptions,
  ): Promise<SessionInfo>;

  /** Removes the content of an item from all records and appends `item_redacted`. */
  redact(session: string, item: string, reason?: string): Promise<void>;

  /**
   * Deletes a session and the blobs that only it references. Returns false if there was nothing to
   * delete.
   */
  delete(session: string, options?: DeleteOptions): Promise<boolean>;

  /** Closes the log. Its drivers return their leases, and its followers end. */
  close(): Promise<void>;
}

/** Holds the lease of a session and writes its records. A session has one driver at a time. */
export interface Driver {
  readonly session: SessionId;
  /** Increases with each driver. A later driver fences an earlier one. */
  readonly epoch: number;
  /** The incarnation of the session, as in `SessionInfo`. The driver's offsets belong to it. */
  readonly incarnation: string;
  /**
   * The offset of the session's last record when the driver was opened. A caller that has the records
   * up to it need not read them. Default: unknown.
   */
  readonly openedThrough?: number | undefined;
  /** Resolves when the driver loses its lease, with the error that its next append would throw. */
  readonly lost: Promise<Error>;
  /**
   * Stores all drafts or none. Returns all records since this driver's last batch, including those of
   * other writers. Fold and show exactly these records.
   */
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /** Lets a producer write for one request or one tool call of this driver. */
  admit(options: AdmitOptions): Promise<Admission>;
  /** Closes the session for good. Nothing more can be appended to it. */
  closeSession(): Promise<Batch>;
  /** Returns the lease. */
  release(): Promise<void>;
  /** Stops this driver and keeps the lease. `open(session, { epoch })` continues with the same lease. */
  detach(): void;
}

/** Options of `Log.open`. */
export interface OpenOptions {
  /** A name for this driver, shown to others that try to open the session. Default: `somebody`. */
  readonly holder?: string | undefined;
  /**
   * How long the lease lasts without a renewal, in milliseconds. `Infinity`: until it is released or
   * taken over. Default: 15,000.
   */
  readonly leaseMs?: number | undefined;
  /** Takes the lease even from a driver that may be alive, and fences that driver. Default: false. */
  readonly takeOver?: boolean | undefined;
  /**
   * The lease belongs to a workflow and not to this process. It survives the process and the closing
   * of the log, until it expires, is released, or is taken over. Default: false.
   */
  readonly isDetached?: boolean | undefined;
  /**
   * Continues the existing lease with this epoch, from any process, as a detached one. Throws `fenced`
   * if that epoch no longer drives the session. Default: a new lease.
   */
  readonly epoch?: number | undefined;
  /**
   * The driver already has the records up to this offset. Its first batch starts with the next record.
   * Default: 0.
   */
  readonly from?: number | undefined;
  /**
   * The incarnation that `from` belongs to, from `SessionInfo`. Throws `rewound` if the session has
   * another one now. Default: not checked.
   */
  readonly incarnation?: string | undefined;
}

/** The result of `Log.submit`. */
export interface SubmitResult {
  /** The offset of the command's record. */
  readonly offset: number;
  /** True if a command with this key existed before. */
  readonly isRepeat: boolean;
}

/** A command on the log, found by its key. */
export interface FoundCommand {
  /** The offset of the command's record. */
  readonly offset: number;
  /** True if a driver has handled the command. */
  readonly isConsumed: boolean;
}

/** Options of `Log.read`. */
export interface ReadOptions {
  /** The offset after which to read. Default: 0. */
  readonly from?: number | undefined;
  /**
   * The incarnation that `from` belongs to, from `SessionInfo`. Throws `rewound` if the session has
   * another one now. Default: not checked.
   */
  readonly incarnation?: string | undefined;
  /** Approximate maximum size of the records. At least one record is returned. Default: 1 MiB. */
  readonly maxBytes?: number | undefined;
}

/** Options of `Log.follow`. */
export interface FollowOptions {
  /** The offset after which to start. Default: 0, the start of the session. */
  readonly from?: number | undefined;
  /**
   * The incarnation that `from` belongs to, from `SessionInfo`. The iteration throws `rewound` if the
   * session has another one at the start. A change during the iteration always throws. Default: not
   * checked at the start.
   */
  readonly incarnation?: string | undefined;
  /**
   * When to end. `idle`: after the last record, if no run or turn is open. `closed`: when the session
   * is closed. Default: never.
   */
  readonly until?: 'idle' | 'closed' | undefined;
  /** Ends the iteration when aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Maximum number of records that a follower may fall behind after it had caught up. Beyond it, the
   * iteration throws `lagged` with the cursor. Default: no limit.
   */
  readonly maxLag?: number | undefined;
}

/** Options of `Log.restore`: the state of the original session besides its records. */
export interface RestoreOptions {
  /** Milliseconds since 1970. Default: now. */
  readonly createdAt?: number | undefined;
  /** Milliseconds since 1970. Default: now. */
  readonly changedAt?: number | undefined;
  /** Default: false. */
  readonly isClosed?: boolean | undefined;
  /** Where the session was forked from. Default: nowhere. */
  readonly origin?: SessionInfo['origin'];
  /** The last offset, if the record there was removed. Default: the offset of the last record. */
  readonly through?: number | undefined;
}

/** Options of `Log.settle`. */
export interface SettleOptions {
  /** The offsets of the turn's first and last record, if they are known. Default: searches them. */
  readonly within?: readonly [first: number, last: number] | undefined;
}

/** Options of `Log.delete`. */
export interface DeleteOptions {
  /** Deletes only if this is the offset of the last record, so that newer records are not lost. Default: always. */
  readonly ifThrough?: number | undefined;
}

/** Options of `Log.fork`. */
export interface ForkOptions {
  /** The id of the new session. */
  readonly into: string;
  /** The offset of the last record to copy. */
  readonly through: number;
}
