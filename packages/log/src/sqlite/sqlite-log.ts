import type { ItemId, SessionId } from '@millrace/core';
import { type Clock, systemClock } from '../contract/clock.ts';
import type { DeleteOptions, Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { LocalLog, type LocalLogOptions } from '../engine/local-log.ts';
import { currentProcess, isProcessAlive } from '../storage/process-identity.ts';
import { IdleCheckpoint } from './maintenance.ts';
import { assertFileOptions, type Durability, filePath } from './open-database.ts';
import { SqliteStore } from './sqlite-store.ts';

export interface SqliteLogOptions
  extends Pick<LocalLogOptions, 'clock' | 'commitIntervalMs' | 'bus' | 'onPoint'> {
  /** The file. It is made if there is none; its folder has to be there. */
  readonly path: string;
  /**
   * `process`, which is the default: what was told survives the death of the program, at any moment.
   * `power`: it survives that of the machine too, at the cost of a write to the disk for each commit.
   */
  readonly durability?: Durability | undefined;
  /** How long another process's transaction is waited for. */
  readonly busyTimeoutMs?: number | undefined;
  /** What the file may grow to; beyond it, appends are refused as if the disk were full. */
  readonly maxBytes?: number | undefined;
}

/** A log in one file, and what keeps that file in order. */
export interface SqliteLog extends Log {
  /** Transactions so far, for those who measure. */
  readonly transactions: number;

  /**
   * Copies all of it, as it is at one moment, into a new file that opens as a log. Drivers and
   * followers go on meanwhile, here and in other processes; the journal grows until the copy is done.
   */
  backup(path: string): Promise<void>;

  /**
   * Gives the room of what was settled, redacted or deleted back to the disk, some pages at a time
   * so that others can write in between; gives the number of bytes. Without it, that room is used for
   * what comes next. Blobs go too that were stored a day ago and that no record ever named.
   */
  vacuum(): Promise<number>;

  /**
   * Brings what is in the journal over into the file and empties the journal. Happens by itself when
   * the journal is long or nothing was written for a while. False where somebody read or wrote just
   * now: then it was not, or not all, and can be tried again.
   */
  checkpoint(): Promise<boolean>;
}

/** Whoever stored a blob so long ago and named it nowhere is gone. */
const unreferencedBlobMs = 24 * 3_600_000;

/** A log in one file, without a server. */
export function sqliteLog(options: SqliteLogOptions): SqliteLog {
  return new SqliteStoreLog(options);
}

class SqliteStoreLog extends LocalLog implements SqliteLog {
  readonly #store: SqliteStore;
  readonly #idleCheckpoint: IdleCheckpoint;
  readonly #clock: Clock;

  constructor(options: SqliteLogOptions) {
    const { durability = 'process', busyTimeoutMs = 5000, maxBytes, ...rest } = options;
    const { clock = systemClock, onPoint } = rest;
    assertFileOptions({ durability, busyTimeoutMs, maxBytes });
    const path = filePath(options.path);
    const idleCheckpoint = new IdleCheckpoint(clock, () => store.checkpoint());
    const onCommit = () => idleCheckpoint.noteCommit();
    const file = { path, durability, busyTimeoutMs, maxBytes };
    const store = new SqliteStore({ ...file, onPoint, onCommit });
    super(store, { ...rest, process: currentProcess(), isAlive: isProcessAlive });
    this.#store = store;
    this.#idleCheckpoint = idleCheckpoint;
    this.#clock = clock;
  }

  async backup(path: string): Promise<void> {
    await this.#requireOpen().backup(path);
  }

  async vacuum(): Promise<number> {
    const store = this.#requireOpen();
    store.deleteForgottenBlobs(this.#clock.now() - unreferencedBlobMs);
    return store.vacuum();
  }

  async checkpoint(): Promise<boolean> {
    return this.#requireOpen().checkpoint();
  }

  override async redact(session: SessionId, item: ItemId, reason?: string): Promise<void> {
    await super.redact(session, item, reason);
    this.#idleCheckpoint.noteErasure();
  }

  override async delete(session: SessionId, options: DeleteOptions = {}): Promise<boolean> {
    const isDeleted = await super.delete(session, options);
    if (isDeleted) this.#idleCheckpoint.noteErasure();
    return isDeleted;
  }

  override async close(): Promise<void> {
    this.#idleCheckpoint.stop();
    await super.close();
  }

  #requireOpen(): SqliteStore {
    if (this.#store.isOpen) return this.#store;
    throw new LogError('closed', 'Cannot look after a log that was closed. Open it again');
  }
}
