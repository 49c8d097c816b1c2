import type { DatabaseSync } from 'node:sqlite';
import { counterJump, randomIncarnation } from '../../storage/incarnation.ts';
import { inTransaction } from '../schema.ts';
import type { HighWaterMark, Mark } from './high-water-mark.ts';

/**
 * The reason why a log got a new incarnation. `lost_tail`: its last commits are missing. `replaced`: the mark
 * beside the file belongs to a different file, or there is no mark. `restored`: a backup was opened for the
 * first time.
 */
export type RewindReason = 'lost_tail' | 'replaced' | 'restored';

/** Reports that a log was rewound. The log continues from an earlier moment, with a new incarnation. */
export interface RewindEvent {
  readonly path: string;
  readonly reason: RewindReason;
}

interface Counters {
  readonly incarnation: number;
  readonly drivers: number;
  readonly sessions: number;
}

/**
 * Special incarnations. A file that was created before incarnations existed has `none`. A backup that was
 * never opened has `backupIncarnation`.
 */
const none = 0;
export const backupIncarnation = -1;

/**
 * Compares the file with its mark, and gives it a new incarnation if it was rewound. Returns the reason, or
 * `undefined` if the file was not rewound.
 */
export function checkLineage(
  database: DatabaseSync,
  file: HighWaterMark,
): RewindReason | undefined {
  // The mark is read before the file. If another process commits between the two reads, the file is newer
  // than the mark, which is not a rewind.
  const mark = file.read();
  const now = readCounters(database);
  if (now.incarnation > none && !isFirst(now, mark) && rewindReason(database, mark) === undefined)
    return undefined;
  return inTransaction(database, 'IMMEDIATE', () => {
    // Checks again inside the transaction, because another process may already have renewed the incarnation.
    const latest = file.read();
    const counters = readCounters(database);
    const reason = rewindReason(database, latest);
    if (reason !== undefined) startIncarnation(database, file, latest);
    else if (counters.incarnation === none)
      setIncarnation(database, file, { ...counters, incarnation: randomIncarnation() });
    else if (latest === undefined) file.write(emptyMark(counters.incarnation));
    return reason;
  });
}

/** Gives the file a new incarnation, in a transaction of its own. */
export function renewIncarnation(database: DatabaseSync, file: HighWaterMark): void {
  inTransaction(database, 'IMMEDIATE', () => startIncarnation(database, file, file.read()));
}

/** Returns whether the file was created a moment ago and has no mark yet. */
function isFirst(counters: Counters, mark: Mark | undefined): boolean {
  return mark === undefined && isEmpty(counters);
}

function isEmpty({ drivers, sessions }: Counters): boolean {
  return drivers === 0 && sessions === 0;
}

function rewindReason(database: DatabaseSync, mark: Mark | undefined): RewindReason | undefined {
  const counters = readCounters(database);
  if (counters.incarnation === backupIncarnation) return 'restored';
  if (counters.incarnation === none) return undefined;
  if (mark === undefined) return isEmpty(counters) ? undefined : 'replaced';
  if (mark.incarnation !== counters.incarnation) return 'replaced';
  return contains(database, counters, mark) ? undefined : 'lost_tail';
}

/**
 * Returns whether the file contains the commit of the mark. Later commits may have changed the session
 * again.
 */
function contains(database: DatabaseSync, counters: Counters, mark: Mark): boolean {
  if (mark.key === 0) return true;
  const row = database
    .prepare('SELECT made, through, rewrites, epoch FROM log_sessions WHERE key = ?')
    .get(mark.key);
  // The session was deleted after the mark was written, or its creation was lost. The counter of created
  // sessions shows which case it is.
  if (row === undefined) return counters.sessions >= mark.made;
  if (row['made'] !== mark.made) return false;
  const isThere = (name: 'through' | 'rewrites' | 'epoch') => Number(row[name]) >= mark[name];
  return !mark.isDeleted && isThere('through') && isThere('rewrites') && isThere('epoch');
}

function startIncarnation(
  database: DatabaseSync,
  file: HighWaterMark,
  mark: Mark | undefined,
): void {
  const { drivers, sessions } = readCounters(database);
  setIncarnation(database, file, {
    incarnation: randomIncarnation(),
    drivers: Math.max(drivers, mark?.epoch ?? 0) + counterJump(),
    sessions: Math.max(sessions, mark?.made ?? 0) + counterJump(),
  });
}

/**
 * Sets the incarnation in the file and in the mark. The mark is written before the commit. If the process
 * crashes between the write and the commit, the file and the mark differ, and the next check sets both again.
 */
function setIncarnation(database: DatabaseSync, file: HighWaterMark, next: Counters): void {
  const { incarnation, drivers, sessions } = next;
  const set = 'UPDATE counters SET incarnation = ?, drivers = ?, sessions = ?';
  database.prepare(set).run(incarnation, drivers, sessions);
  file.write(emptyMark(incarnation));
}

function emptyMark(incarnation: number): Mark {
  const zero = { key: 0, made: 0, through: 0, rewrites: 0, epoch: 0 };
  return { incarnation, ...zero, isDeleted: false };
}

function readCounters(database: DatabaseSync): Counters {
  const row = database.prepare('SELECT incarnation, drivers, sessions FROM counters').get() ?? {};
  const { incarnation = 0, drivers = 0, sessions = 0 } = row;
  return {
    incarnation: Number(incarnation),
    drivers: Number(drivers),
    sessions: Number(sessions),
  };
}
