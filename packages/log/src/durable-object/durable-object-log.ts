import type { OptionNames } from '@millrace/core';
import { type Clock, systemClock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { assertNames } from '../engine/check-options.ts';
import { LocalLog, type LocalLogOptions } from '../engine/local-log.ts';
import type { ProcessIdentity } from '../storage/rows.ts';
import { DurableObjectStore } from './durable-object-store.ts';
import type { DurableObjectStorage } from './sql-tables.ts';

export type { DurableObjectStorage, SqlCursor } from './sql-tables.ts';

/** Options of `durableObjectLog`. */
export interface DurableObjectLogOptions
  extends Pick<LocalLogOptions, 'clock' | 'commitIntervalMs' | 'bus'> {
  /** The storage of the Durable Object: `ctx.storage`. Declare its class with `new_sqlite_classes`. */
  readonly storage: DurableObjectStorage;
}

/** A log in a Durable Object, with maintenance operations. */
export interface DurableObjectLog extends Log {
  /** The number of transactions since the log was opened, for measurements. */
  readonly transactions: number;
  /**
   * Deletes blobs that were stored more than a day ago and that no record references. Returns the number of
   * deleted blobs.
   */
  vacuum(): Promise<number>;
  /**
   * Starts a new incarnation. Call it after `onNextSessionRestoreBookmark` has restored an earlier state of
   * the storage, because the log cannot detect this. Readers with an earlier cursor then get `rewound`, and
   * drivers are fenced.
   */
  renewIncarnation(): Promise<void>;
}

/**
 * A blob without references is deleted after this time. By then, the instance that stored it has certainly
 * ended.
 */
const unreferencedBlobMs = 24 * 3_600_000;

const optionNames: OptionNames<DurableObjectLogOptions> = {
  storage: true,
  clock: true,
  commitIntervalMs: true,
  bus: true,
};

/**
 * Opens a log in the SQLite database of a Durable Object. The names of its tables start with `millrace_`.
 * After the object was evicted, the log continues with the stored sessions. Use one object per user or per
 * session, because each object runs on one thread.
 *
 * @example class Chat extends DurableObject { log = durableObjectLog({ storage: this.ctx.storage }); }
 */
export function durableObjectLog(options: DurableObjectLogOptions): DurableObjectLog {
  return new DurableObjectStoreLog(options);
}

class DurableObjectStoreLog extends LocalLog implements DurableObjectLog {
  readonly #store: DurableObjectStore;
  readonly #clock: Clock;

  constructor(given: DurableObjectLogOptions) {
    assertNames('durableObjectLog', given, optionNames);
    const { storage, ...options } = given;
    if (typeof storage?.sql?.exec !== 'function') throw notSqlite();
    const store = new DurableObjectStore(storage);
    const { instance } = store;
    // The platform starts a new instance only after the old instance has ended. A lease of a different
    // instance is therefore free.
    const isAlive = ({ started }: ProcessIdentity) =>
      started === instance.started ? undefined : false;
    const leaseClock = { id: instance.started, now: () => performance.now() };
    super(store, { ...options, process: instance, isAlive, leaseClock });
    this.#store = store;
    this.#clock = options.clock ?? systemClock;
  }

  async renewIncarnation(): Promise<void> {
    this.#store.renewIncarnation();
    this.refreshFollowers();
  }

  async vacuum(): Promise<number> {
    return this.#store.deleteForgottenBlobs(this.#clock.now() - unreferencedBlobMs);
  }
}

function notSqlite(): LogError {
  const message =
    'Cannot open a log in this storage: it has no SQLite. Pass ctx.storage, and declare the class with new_sqlite_classes';
  return new LogError('bad_option', message, { name: 'storage' });
}
