import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../contract/clock.ts';
import { LogError } from '../contract/log-error.ts';
import { singleValue } from './schema.ts';

/** Pages that are given back at once; in between, others may write. */
const pagesPerStep = 256;
/** More pages than a file can have: a copy in one step is one that nobody's writing starts anew. */
const allPages = 2 ** 31 - 1;

/** Brings the journal over into the file and empties it; false where somebody reads or writes just now. */
export function checkpoint(database: DatabaseSync): boolean {
  const waitMs = Number(singleValue(database, 'PRAGMA busy_timeout'));
  // It can be done later as well: nobody has to wait for it.
  database.exec('PRAGMA busy_timeout = 0');
  try {
    return singleValue(database, 'PRAGMA wal_checkpoint(TRUNCATE)') === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  }
}

/** Gives the room of what was deleted back to the disk, and says how many bytes that were. */
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

/** A copy of the file as it is at one moment. It has its name only when it is whole. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  if (existsSync(to)) throw targetExists(to);
  // Two who copy to the same place at once have one each.
  const unfinished = `${to}.${randomUUID()}.unfinished`;
  // A reader of its own, in another thread: the log goes on meanwhile.
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    await backup(source, unfinished, { rate: allPages });
    linkIntoPlace(unfinished, to);
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(unfinished + end, { force: true });
    source.close();
  }
}

/** Not as `rename` does it, which takes the place of what somebody put there meanwhile. */
function linkIntoPlace(unfinished: string, to: string): void {
  try {
    linkSync(unfinished, to);
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === 'EEXIST') throw targetExists(to);
    // Some file systems have no links.
    renameSync(unfinished, to);
  }
}

function targetExists(path: string): LogError {
  const message = `Cannot back up to ${path}: there is a file. Choose another path, or remove it`;
  return new LogError('bad_option', message, { path });
}

/** How long nobody has to write here before the journal is emptied. */
const idleMs = 2000;

/**
 * Empties the journal when nothing is written for a while. Under load that is SQLite's own affair, but
 * what was written last would stay in it, and the next one to open the file would have to read it.
 */
export class IdleCheckpoint {
  readonly #clock: Clock;
  readonly #checkpoint: () => boolean;
  #cancel: (() => void) | undefined;
  /** Something was committed since the timer was set. */
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
   * What was redacted or deleted is in the journal, or in the file under it, until that is emptied:
   * now, or as soon as nobody reads, however busy it is here.
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

  /** What goes wrong here goes wrong at the next commit too, where there is somebody to hear of it. */
  #isDone(): boolean {
    try {
      if (!this.#checkpoint()) return false;
      this.#hasErased = false;
      return true;
    } catch {
      return true;
    }
  }
}
