import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../contract/clock.ts';
import { LogError } from '../contract/log-error.ts';
import { backupIncarnation } from './file/lineage.ts';
import { createPrivateFile } from './file/private-database.ts';
import { singleValue } from './schema.ts';

/** The number of pages that one step frees. Other processes can write between two steps. */
const pagesPerStep = 256;
/**
 * A number larger than the number of pages of any file. With this number, the copy is made in one step, so a
 * write of another process does not restart it.
 */
const allPages = 2 ** 31 - 1;

/**
 * Copies the WAL into the file and truncates it. Returns false if another connection is reading or
 * writing.
 */
export function checkpoint(database: DatabaseSync): boolean {
  const waitMs = Number(singleValue(database, 'PRAGMA busy_timeout'));
  // The checkpoint can run later, so it does not wait for other connections.
  database.exec('PRAGMA busy_timeout = 0');
  try {
    return singleValue(database, 'PRAGMA wal_checkpoint(TRUNCATE)') === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  }
}

/** Returns the space of deleted data to the disk. Returns the number of freed bytes. */
export async function vacuum(database: DatabaseSync): Promise<number> {
  const pageBytes = Number(singleValue(database, 'PRAGMA page_size'));
  let freed = 0;
  for (let free = freePages(database); free > 0 && database.isOpen; ) {
    database.exec(`PRAGMA incremental_vacuum(${pagesPerStep})`);
    const left = freePages(database);
    if (left >= free) break;
    freed += free - left;
    free = left;
    await turn();
  }
  if (database.isOpen) checkpoint(database);
  return freed * pageBytes;
}

function freePages(database: DatabaseSync): number {
  return database.isOpen ? Number(singleValue(database, 'PRAGMA freelist_count')) : 0;
}

/**
 * Copies the file. The copy contains the state of one moment. It gets its final name only when it is
 * complete.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  if (existsSync(to)) throw targetExists(to);
  // The name is unique, so that two backups to the same path do not share a temporary file.
  const unfinished = `${to}.${randomUUID()}.unfinished`;
  // The copy uses a separate read-only connection in a worker thread, so the log can continue to work.
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    createPrivateFile(unfinished);
    await backup(source, unfinished, { rate: allPages });
    markAsBackup(unfinished);
    linkIntoPlace(unfinished, to);
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(unfinished + end, { force: true });
    source.close();
  }
}

/** Marks the copy as a backup. Each copy gets its own new incarnation when it is opened. */
function markAsBackup(path: string): void {
  const copy = new DatabaseSync(path);
  try {
    copy.exec(
      `PRAGMA journal_mode = DELETE; UPDATE counters SET incarnation = ${backupIncarnation}`,
    );
  } finally {
    copy.close();
  }
}

/**
 * Gives the complete copy its final name. It uses a hard link, which fails if the target exists. `rename`
 * would overwrite a file that another process has created in the meantime.
 */
function linkIntoPlace(unfinished: string, to: string): void {
  try {
    linkSync(unfinished, to);
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === 'EEXIST') throw targetExists(to);
    // Some file systems do not support hard links. There, the file is renamed.
    renameSync(unfinished, to);
  }
}

function targetExists(path: string): LogError {
  const message = `Cannot back up to ${path}: the file exists. Choose another path, or remove the file`;
  return new LogError('bad_option', message, { path });
}

/** The WAL is truncated after this time without writes, in milliseconds. */
const idleMs = 2000;

/**
 * Truncates the WAL after a period without writes. SQLite itself truncates the WAL only during writes.
 * Without this class, the last writes would stay in the WAL, and the next process that opens the file would
 * have to read them.
 */
export class IdleCheckpoint {
  readonly #clock: Clock;
  readonly #checkpoint: () => boolean;
  #cancel: (() => void) | undefined;
  /** True if a transaction was committed after the timer was set. */
  #isBusy = false;
  #hasErased = false;

  constructor(clock: Clock, checkpoint: () => boolean) {
    this.#clock = clock;
    this.#checkpoint = checkpoint;
  }

  noteCommit(): void {
    this.#isBusy = true;
    if (this.#cancel === undefined) this.#setTimer();
  }

  /**
   * Runs a checkpoint now, or as soon as no connection reads. Call it after a redaction or a deletion,
   * because the old data stays in the WAL or in the file until a checkpoint.
   */
  noteErasure(): void {
    this.#hasErased = true;
    if (!this.#isDone() && this.#cancel === undefined) this.#setTimer();
  }

  stop(): void {
    this.#cancel?.();
    if (this.#hasErased) this.#isDone();
  }

  #setTimer(): void {
    this.#isBusy = false;
    this.#cancel = this.#clock.after(idleMs, () => this.#look(), { isIdle: true });
  }

  #look(): void {
    this.#cancel = undefined;
    const canWait = this.#isBusy && !this.#hasErased;
    if (canWait || !this.#isDone()) this.#setTimer();
  }

  /**
   * Runs a checkpoint. Returns false if it must be tried again. Errors are ignored, because the next commit
   * reports the same error to its caller. After a redaction or a deletion, a failed checkpoint is tried
   * again, because the file still contains the removed data.
   */
  #isDone(): boolean {
    try {
      if (!this.#checkpoint()) return false;
      this.#hasErased = false;
      return true;
    } catch {
      return !this.#hasErased;
    }
  }
}
