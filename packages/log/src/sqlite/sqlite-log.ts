import type { ItemId, SessionId } from '@millrace/core';
import { type Clock, systemClock } from '../contract/clock.ts';
import type { DeleteOptions, Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { assertNames } from '../engine/check-options.ts';
import { LocalLog, type LocalLogOptions } from '../engine/local-log.ts';
import { currentProcess, isProcessAlive, machineClock } from '../storage/process-identity.ts';
import { isHidden } from '../storage/session-row.ts';
import type { RewindEvent, RewindReason } from './file/lineage.ts';
import { IdleCheckpoint } from './maintenance.ts';
import { assertFileOptions, type Durability, filePath } from './open-database.ts';
import { SqliteStore } from './sqlite-store.ts';

/** Options of `sqliteLog`. */
export interface SqliteLogOptions
  extends Pick<LocalLogOptions, 'clock' | 'commitIntervalMs' | 'bus' | 'chain' | 'onPoint'> {
  /**
   * Path of the file. If the file does not exist, it is created, and only its owner can read it (0600). A file that
   * exists keeps its mode. The folder must exist.
   */
  readonly path: string;
  /**
   * The kind of crash that committed records survive. `process`: a crash of the program. `power`: also a
   * crash of the machine, at the cost of one disk write per commit. Default: `process`.
   */
  readonly durability?: Durability | undefined;
  /** The time to wait for a transaction of another process, in milliseconds. Default: 5,000. */
  readonly busyTimeoutMs?: number | undefined;
  /**
   * Maximum size of the file in bytes. If the file would become larger, appends fail with `storage_full`.
   * Default: no limit.
   */
  readonly maxBytes?: number | undefined;
  /**
   * Called if the file was rewound: a backup was restored, or its last commits are missing. The log opens
   * with a new incarnation. Default: prints a process warning, except for a backup.
   */
  readonly onRewound?: ((event: RewindEvent) => void) | undefined;
}

/** A log in one SQLite file, with maintenance operations. */
export interface SqliteLog extends Log {
  /** The number of transactions since the log was opened, for measurements. */
  readonly transactions: number;

  /**
   * Copies the log into a new file, which can be opened as a log. The copy contains the state of one
   * moment. Drivers and followers can continue. The WAL grows until the copy is complete. Only the owner of the copy
   * can read it (0600).
   */
  backup(path: string): Promise<void>;

  /**
   * Starts a new incarnation. Call it after an earlier state of the file was restored in a way that the log
   * cannot detect, for example with a snapshot of the disk. Readers with an earlier cursor then get
   * `rewound`, and drivers are fenced.
   */
  renewIncarnation(): Promise<void>;

  /**
   * Returns the space of settled, redacted or deleted data to the disk. Returns the number of freed bytes. It
   * works in small steps, so other writes can happen between two steps. Without `vacuum`, the file keeps this
   * space and reuses it for new data. It also deletes blobs that were stored more than a day ago and that no
   * record references.
   */
  vacuum(): Promise<number>;

  /**
   * Copies the WAL into the file and truncates the WAL. This also happens automatically when the WAL is
   * long, or after a period without writes. Returns false if another connection was reading or writing.
   * Call it again later in this case.
   */
  checkpoint(): Promise<boolean>;
}

/**
 * A blob without references is deleted after this time. By then, the process that stored it has certainly
 * ended.
 */
const unreferencedBlobMs = 24 * 3_600_000;

/**
 * Opens a log in one SQLite file. It needs no server.
 *
 * @example const log = sqliteLog({ path: 'sessions.db' });
 */
export function sqliteLog(options: SqliteLogOptions): SqliteLog {
  assertNames('sqliteLog', options, {
    ...{ path: true, durability: true, busyTimeoutMs: true, maxBytes: true, onRewound: true },
    ...{ clock: true, commitIntervalMs: true, bus: true, chain: true, onPoint: true },
  });
  return new SqliteStoreLog(options);
}

const explanations: Readonly<Record<RewindReason, string>> = {
  lost_tail: 'its last commits are missing, perhaps because its WAL was damaged or removed',
  replaced: 'the file was replaced, or the file with its mark is missing',
  restored: 'a backup was opened',
};

/** The default of `onRewound`. It prints no warning for a backup, because a backup is opened on purpose. */
function warn({ path, reason }: RewindEvent): void {
  if (reason === 'restored') return;
  const message = `The log at ${path} was rewound: ${explanations[reason]}. It has a new incarnation, and clients read it again`;
  process.emitWarning(message, { code: 'MILLRACE_LOG_REWOUND' });
}

class SqliteStoreLog extends LocalLog implements SqliteLog {
  readonly #store: SqliteStore;
  readonly #idleCheckpoint: IdleCheckpoint;
  readonly #clock: Clock;

  constructor(options: SqliteLogOptions) {
    const { durability = 'process', busyTimeoutMs = 5000, maxBytes, ...rest } = options;
    const { clock = systemClock, onPoint, onRewound = warn } = rest;
    assertFileOptions({ durability, busyTimeoutMs, maxBytes });
    const path = filePath(options.path);
    const idleCheckpoint = new IdleCheckpoint(clock, () => store.checkpoint());
    const onCommit = () => idleCheckpoint.noteCommit();
    const file = { path, durability, busyTimeoutMs, maxBytes };
    const store = new SqliteStore({ ...file, onPoint, onCommit, onRewound });
    const [process, leaseClock] = [currentProcess(), machineClock()];
    super(store, { ...rest, process, isAlive: isProcessAlive, leaseClock });
    this.#store = store;
    this.#idleCheckpoint = idleCheckpoint;
    this.#clock = clock;
    // An earlier process may have been killed before its checkpoint removed redacted or deleted data.
    if (store.hasErasures) idleCheckpoint.noteErasure();
    // An earlier process may also have been killed during a fork. The incomplete copy is removed in the
    // background.
    const [first] = store.sessions({ limit: 1 });
    if (first !== undefined && isHidden(first.session))
      this.removeAbandonedCopies().catch(() => {});
  }

  async backup(path: string): Promise<void> {
    await this.#requireOpen().backup(path);
  }

  async renewIncarnation(): Promise<void> {
    this.#requireOpen().renewIncarnation();
    this.refreshFollowers();
  }

  async vacuum(): Promise<number> {
    const store = this.#requireOpen();
    await this.removeAbandonedCopies();
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
    throw new LogError('closed', 'Cannot maintain a closed log. Open it again');
  }
}
