import type { Batch, DraftRecord, JsonObject, LogRecord, SessionId } from '@millrace/core';
import type { BlobStore } from './blob-store.ts';
import type { Admission, AdmitOptions, Producer } from './producer.ts';
import type { ChainInfo, SessionFilter, SessionInfo } from './session-info.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/** Stores sessions. Each session is a sequence of records that the store numbers from 1 without gaps. */
export interface Log {
  /** Stores large binary content beside the records. */
  readonly blobs: BlobStore;

  /**
   * Stores snapshots of folded sessions. Default: none. Without snapshots, a state that is not in memory is
   * folded from the first record.
   */
  readonly snapshots?: SnapshotStore | undefined;

  /**
   * Takes the lease of a session and returns its driver. The session is created if it does not exist.
   * Throws `held` if another driver holds the lease.
   */
  open(session: string, options?: OpenOptions): Promise<Driver>;

  /** Opens an admission for writing. This fences the producer that opened the same admission before. */
  produce(admission: Admission): Promise<Producer>;

  /**
   * Queues a command for the session's driver. The caller needs no lease. If the session already has a
   * command with this key, the log stores nothing, and the result has the offset of the existing command.
   */
  submit(session: string, command: JsonObject, key: string): Promise<SubmitResult>;

  /**
   * Finds a command by its key. Returns `undefined` if no command of the session has this key. The search
   * uses an index, so its cost does not depend on the session's length.
   */
  findCommand(session: string, key: string): Promise<FoundCommand | undefined>;

  /** Reads the records after an offset, up to a size limit. */
  read(session: string, options?: ReadOptions): Promise<Batch>;

  /**
   * Reads all records after an offset and then continues with new records, without gaps or overlaps. The
   * cursor to continue from is the `through` of the last batch. The log starts to read when the caller
   * requests the first batch. The reader can stop at any time. Invalid options throw immediately.
   */
  follow(session: string, options?: FollowOptions): AsyncIterable<Batch>;

  /**
   * Returns the info of a session without reading its records. Returns `undefined` if the session does not
   * exist.
   */
  info(session: string): Promise<SessionInfo | undefined>;

  /** Lists sessions in the order of their ids. */
  list(filter?: SessionFilter): Promise<readonly SessionInfo[]>;

  /**
   * Replaces the deltas of a finished turn with a snapshot. Returns false if the turn is not finished
   * or is already settled. Without `within`, it searches the whole session for the turn.
   */
  settle(session: string, turn: number, options?: SettleOptions): Promise<boolean>;

  /**
   * Copies a session up to an offset into a new session, which keeps a reference to its origin. A long session
   * is copied in parts, so that other work can run in between. No reader sees the new session before it is
   * complete.
   */
  fork(session: string, options: ForkOptions): Promise<SessionInfo>;

  /**
   * Creates a session from records that already have offsets. It stores all records, or none if the session
   * already exists. `restore` does not validate the records. Use `importSession` for untrusted records.
   */
  restore(
    session: string,
    records: readonly LogRecord[],
    options?: RestoreOptions,
  ): Promise<SessionInfo>;

  /** Removes the content of an item from all records and appends `item_redacted`. */
  redact(session: string, item: string, reason?: string): Promise<void>;

  /**
   * Deletes a session and the blobs that only this session references. Returns false if the session does not
   * exist.
   */
  delete(session: string, options?: DeleteOptions): Promise<boolean>;

  /** Closes the log. Its drivers release their leases, and its followers end. */
  close(): Promise<void>;
}

/** Holds the lease of a session and writes its records. A session has one driver at a time. */
export interface Driver {
  readonly session: SessionId;
  /** The number of the driver's lease. A driver with a higher epoch fences all drivers with a lower epoch. */
  readonly epoch: number;
  /** The incarnation of the session, as in `SessionInfo`. The driver's offsets belong to this incarnation. */
  readonly incarnation: string;
  /**
   * The offset of the session's last record at the moment when the driver was opened. A caller that already
   * has the records up to this offset does not have to read them. Default: unknown.
   */
  readonly openedThrough?: number | undefined;
  /** Resolves when the driver loses its lease. The value is the error that the next append would throw. */
  readonly lost: Promise<Error>;
  /**
   * Stores all drafts or none of them. Returns all records since this driver's last batch, including the
   * records of other writers. Fold and show exactly these records.
   */
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /** Allows a producer to write the answer to one request, or the output of one tool call, of this driver. */
  admit(options: AdmitOptions): Promise<Admission>;
  /** Closes the session permanently. After that, no writer can append to it. */
  closeSession(): Promise<Batch>;
  /** Releases the lease, so that another driver can open the session. */
  release(): Promise<void>;
  /** Stops this driver and keeps the lease. `open(session, { epoch })` continues with the same lease. */
  detach(): void;
}

/** Options of `Log.open`. */
export interface OpenOptions {
  /**
   * A name for this driver. Other programs see this name when they try to open the session. Default:
   * `somebody`.
   */
  readonly holder?: string | undefined;
  /**
   * The duration of the lease without a renewal, in milliseconds. With `Infinity`, the lease lasts until it
   * is released or taken over. Default: 15,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * If true, takes the lease even if its current driver may be alive, and fences that driver. Default:
   * false.
   */
  readonly takeOver?: boolean | undefined;
  /**
   * If true, the lease belongs to a workflow and not to this process. The lease stays valid when the process
   * ends or the log is closed. The lease ends when it expires, is released, or is taken over. Default: false.
   */
  readonly isDetached?: boolean | undefined;
  /**
   * Continues the existing lease that has this epoch. Any process can do this. The lease then counts as
   * detached (see `isDetached`). Throws `fenced` if the session's current driver has a different epoch.
   * Default: takes a new lease.
   */
  readonly epoch?: number | undefined;
  /**
   * The offset of the last record that the driver already has. Its first batch starts with the next record.
   * Default: 0.
   */
  readonly from?: number | undefined;
  /**
   * The incarnation that `from` belongs to, from `SessionInfo`. Throws `rewound` if the session now has a
   * different incarnation. Default: not checked.
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
   * The incarnation that `from` belongs to, from `SessionInfo`. Throws `rewound` if the session now has a
   * different incarnation. Default: not checked.
   */
  readonly incarnation?: string | undefined;
  /**
   * Approximate maximum size of the returned records in bytes. At least one record is returned. Default: 1
   * MiB.
   */
  readonly maxBytes?: number | undefined;
}

/** Options of `Log.follow`. */
export interface FollowOptions {
  /** The offset after which to start. Default: 0, the start of the session. */
  readonly from?: number | undefined;
  /**
   * The incarnation that `from` belongs to, from `SessionInfo`. The iteration throws `rewound` if the session
   * has a different incarnation at the start. If the incarnation changes during the iteration, it always
   * throws. Default: not checked at the start.
   */
  readonly incarnation?: string | undefined;
  /**
   * The condition that ends the iteration. `idle`: the last record is read, and no run or turn is open.
   * `closed`: the session is closed. Default: the iteration does not end.
   */
  readonly until?: 'idle' | 'closed' | undefined;
  /** Ends the iteration when the signal is aborted. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Maximum number of records that a follower may be behind, after it has read all records once. If the
   * follower falls further behind, the iteration throws `lagged` with the cursor. Default: no limit.
   */
  readonly maxLag?: number | undefined;
}

/** Options of `Log.restore`. They describe the original session. */
export interface RestoreOptions {
  /** The time at which the session was created, in milliseconds since 1970. Default: now. */
  readonly createdAt?: number | undefined;
  /** The time at which the records were last changed, in milliseconds since 1970. Default: now. */
  readonly changedAt?: number | undefined;
  /** True if the session is closed. Default: false. */
  readonly isClosed?: boolean | undefined;
  /** The session and offset that the session was forked from. Default: the session is not a fork. */
  readonly origin?: SessionInfo['origin'];
  /**
   * The last offset of the session. Set it if the record at this offset was removed. Default: the offset of
   * the last record.
   */
  readonly through?: number | undefined;
  /**
   * The end of the hash chain that the records have in their field `links`. Default: the records have no
   * valid chain. A log with the option `chain` then starts a new chain, and every other log removes the links.
   */
  readonly chain?: (ChainInfo & { readonly isWide?: true | undefined }) | undefined;
}

/** Options of `Log.settle`. */
export interface SettleOptions {
  /**
   * The offsets of the turn's first and last record, if the caller has them. Default: `settle` searches for
   * them.
   */
  readonly within?: readonly [first: number, last: number] | undefined;
}

/** Options of `Log.delete`. */
export interface DeleteOptions {
  /**
   * If set, deletes the session only if its last record has this offset, so that no newer record is lost.
   * Default: deletes in any case.
   */
  readonly ifThrough?: number | undefined;
}

/** Options of `Log.fork`. */
export interface ForkOptions {
  /** The id of the new session. */
  readonly into: string;
  /** The offset of the last record to copy. */
  readonly through: number;
  /**
   * Records that follow the copied ones. The log stores them in the same transaction, so no reader sees the
   * new session without them. Default: none.
   */
  readonly append?: readonly DraftRecord[] | undefined;
  /**
   * Called before a part of the records is copied, with the approximate size of the part in bytes. A long
   * session has several parts. If it throws, the fork ends with this error and stores nothing. Default: none.
   */
  readonly onCopy?: ((bytes: number) => void) | undefined;
}
