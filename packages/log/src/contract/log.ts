import type { Batch, DraftRecord, ItemId, JsonObject, LogRecord, SessionId } from '@millrace/core';
import type { BlobStore } from './blob-store.ts';
import type { Admission, AdmitOptions, Producer } from './producer.ts';
import type { SessionFilter, SessionInfo } from './session-info.ts';

/** Keeps sessions, each a dense sequence of records that only the store numbers. */
export interface Log {
  readonly blobs: BlobStore;

  /** Takes the lease of a session, which is made if there is none. Throws `held` where another drives it. */
  open(session: SessionId, options?: OpenOptions): Promise<Driver>;

  /** Writes for a driver from elsewhere. Opening an admission again fences whoever opened it before. */
  produce(admission: Admission): Promise<Producer>;

  /**
   * Leaves a command for the session's driver. Needs no lease; the same key again changes nothing and
   * gives the offset that it has.
   */
  submit(session: SessionId, command: JsonObject, key: string): Promise<Submitted>;

  /** What the log has after an offset, up to a bound on its size. */
  read(session: SessionId, options?: ReadOptions): Promise<Batch>;

  /**
   * Catches up, then goes on live: no gap and no overlap at the seam. The cursor is `through`. Nothing
   * begins before the first batch is asked for; it may be left at any time. Options that cannot be
   * meant are told at once, whatever else is wrong with the first batch.
   */
  follow(session: SessionId, options?: FollowOptions): AsyncIterable<Batch>;

  info(session: SessionId): Promise<SessionInfo | undefined>;
  list(filter?: SessionFilter): Promise<readonly SessionInfo[]>;

  /** Replaces the deltas of a finished turn by a snapshot; false where it is not finished, or done already. */
  settle(session: SessionId, turn: number): Promise<boolean>;

  /** A copy of what was there up to an offset, with a pointer to where it came from. */
  fork(session: SessionId, options: ForkOptions): Promise<SessionInfo>;

  /**
   * Makes a session of records that have their offsets already: all of them or, where there is such a
   * session, none. They are taken as they are; `importSession` is what checks them.
   */
  restore(
    session: SessionId,
    records: readonly LogRecord[],
    options?: RestoreOptions,
  ): Promise<SessionInfo>;

  /** Takes the content of an item out of every record, and says so with `item_redacted`. */
  redact(session: SessionId, item: ItemId, reason?: string): Promise<void>;

  /** Its records, and the blobs that nobody else refers to. False where there was nothing to delete. */
  delete(session: SessionId, options?: DeleteOptions): Promise<boolean>;

  /** Lets go of the store; drivers lose their leases, followers end. */
  close(): Promise<void>;
}

/** Who may write a session's records. There is one at a time. */
export interface Driver {
  readonly session: SessionId;
  /** Rises with each driver: a later one fences an earlier one. */
  readonly epoch: number;
  /** Resolves when it lost the lease, with the error that its next append would throw. */
  readonly lost: Promise<Error>;
  /**
   * Stores the drafts, all or none. Gives all that was stored since this driver's last batch, others'
   * records included: that is what is to be folded and told.
   */
  append(drafts: readonly DraftRecord[]): Promise<Batch>;
  /** Lets somebody else write for one request or one call of this driver. */
  admit(options: AdmitOptions): Promise<Admission>;
  /** Nothing more is appended to the session, ever. */
  closeSession(): Promise<Batch>;
  /** Gives the lease back. */
  release(): Promise<void>;
  /** Stops here and keeps the lease: whoever knows its epoch goes on with it, `open(session, { epoch })`. */
  leave(): void;
}

export interface OpenOptions {
  /** Shown to whoever comes second. */
  readonly holder?: string | undefined;
  /** How long it lasts without a sign of life; `Infinity` until it is released or taken over. */
  readonly leaseMs?: number | undefined;
  /** Takes it even from a holder that may still be alive, and fences that one. */
  readonly takeOver?: boolean | undefined;
  /**
   * The lease is a workflow's rather than this process's: it outlives the process and the closing of the
   * log, until it ends by its time, is released, or is taken over.
   */
  readonly isDetached?: boolean | undefined;
  /**
   * Goes on with the lease that was taken as this epoch, in whichever process, as one that is detached.
   * Throws `fenced` where it is not the one that drives any more.
   */
  readonly epoch?: number | undefined;
  /** The driver has the records up to this offset; its first batch has what follows. 0 unless told. */
  readonly from?: number | undefined;
}

export interface Submitted {
  readonly offset: number;
  /** It was there already. */
  readonly isRepeat: boolean;
}

export interface ReadOptions {
  readonly from?: number | undefined;
  /** Roughly how many bytes of records at most; at least one record comes. */
  readonly maxBytes?: number | undefined;
}

export interface FollowOptions {
  /** The offset after which to begin; 0 is the start. */
  readonly from?: number | undefined;
  /** `idle`: caught up, and no run goes on. `closed`: with the session. Without it, it goes on. */
  readonly until?: 'idle' | 'closed' | undefined;
  readonly signal?: AbortSignal | undefined;
  /** One that had caught up and is so many records behind again is cut off with its cursor. Without it, none is. */
  readonly maxLag?: number | undefined;
}

/** What a session was elsewhere, besides its records. */
export interface RestoreOptions {
  readonly createdAt?: number | undefined;
  readonly changedAt?: number | undefined;
  readonly isClosed?: boolean | undefined;
  readonly origin?: SessionInfo['origin'];
  /** Its last offset, where the record there was taken out; that of its last record unless told. */
  readonly through?: number | undefined;
}

export interface DeleteOptions {
  /** Only if this is its last record: if nobody added anything since it was looked at. */
  readonly ifThrough?: number | undefined;
}

export interface ForkOptions {
  readonly into: SessionId;
  /** The last record that the copy has. */
  readonly through: number;
}
