import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MillraceError } from '@millrace/core';
import { databaseFiles } from '../config/config-paths.ts';
import { makeFolder } from '../make-folder.ts';
import {
  type BackupSummary,
  createPrivateFile,
  rowsOf,
  verifyBackup,
  writeLogFile,
} from './backup-file.ts';
import { type BackupTarget, notEmpty } from './backup-target.ts';

interface RestoreOptions {
  readonly path: string;
  readonly target: BackupTarget;
  /** True if the restore may replace a store that is not empty. */
  readonly replace: boolean;
}

/**
 * Restores a backup into a store. First, the whole backup is checked. The store changes only when
 * everything is ready. The log gets a new incarnation, so clients read it again from the start.
 */
export async function restoreBackup(options: RestoreOptions): Promise<BackupSummary> {
  const { path, target } = options;
  if (!existsSync(path)) throw noBackup(path);
  const summary = verifyBackup(path);
  const isServer = target.type === 'postgres' || target.rows !== undefined;
  if (isServer !== (summary.kind === 'server')) throw otherKind(path, summary.kind);
  if (target.type === 'files') await restoreFiles(options, target);
  else {
    const { restorePostgres } = await import('./restore-postgres.ts');
    await withLogCopy(path, (copy) =>
      restorePostgres({ ...options, target, copy, rows: () => rowsOf(path) }),
    );
  }
  return summary;
}

async function restoreFiles(
  { path, replace }: RestoreOptions,
  { log, rows }: Extract<BackupTarget, { readonly type: 'files' }>,
): Promise<void> {
  makeFolder(dirname(log));
  const files = [
    { to: log, table: 'sessions' },
    ...(rows === undefined ? [] : [{ to: rows, table: 'rows' }]),
  ].map((file) => ({ ...file, ready: `${file.to}.${randomUUID()}.part` }));
  for (const { to, table } of files) assertReplaceable(to, table, replace);
  try {
    for (const { to, ready } of files) {
      createPrivateFile(ready);
      if (to === log) await writeLogFile(path, ready);
      else {
        const { importSqliteRows } = await import('@millrace/server/sqlite');
        importSqliteRows(ready, rowsOf(path));
      }
    }
    // The checks run again, because a different process may have changed the files while the copies
    // were written.
    for (const { to, table } of files) assertReplaceable(to, table, replace);
    for (const { to, ready } of files) {
      // The `-mark` file stays, because it prevents the reuse of commit numbers.
      for (const end of ['-wal', '-shm', '-journal']) rmSync(to + end, { force: true });
      renameSync(ready, to);
    }
  } finally {
    for (const file of files.flatMap(({ ready }) => databaseFiles(ready)))
      rmSync(file, { force: true });
  }
}

/**
 * Throws if a different process uses the file, or if the file has content that must not be
 * replaced.
 */
function assertReplaceable(path: string, table: string, replace: boolean): void {
  if (!existsSync(path)) return;
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Each process that uses the file holds a shared lock on it. If there is one, this exclusive
    // lock fails.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    if (!replace && !isEmpty(database, table)) throw notEmpty(path);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const { errcode = 0 } = error as { readonly errcode?: number };
    if ((errcode & 0xff) === busyCode) throw inUse(path);
    // A damaged file can be replaced, but only if the user allows it.
    if (!replace) throw notEmpty(path);
  } finally {
    database.close();
  }
}

const busyCode = 5;

function isEmpty(database: DatabaseSync, table: string): boolean {
  const found = database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table);
  return (
    found === undefined || database.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() === undefined
  );
}

/**
 * Copies the backup and calls the function with the path of the copy. The copy can be opened as a
 * log. The backup itself does not change.
 */
async function withLogCopy(path: string, use: (copy: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-restore-'));
  try {
    const copy = join(folder, 'log.db');
    createPrivateFile(copy);
    await writeLogFile(path, copy);
    await use(copy);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function noBackup(path: string): MillraceError {
  return new MillraceError('no_backup', `Cannot restore ${path}: it does not exist`, { path });
}

function otherKind(path: string, kind: BackupSummary['kind']): MillraceError {
  const message =
    kind === 'server'
      ? `Cannot restore ${path} into a file of sessions: it is the backup of a server. Choose its store with --data <dir> or --store postgres://…`
      : `Cannot restore ${path} into a server: it is the backup of a file of sessions. Choose the file with --store <file>`;
  return new MillraceError('bad_backup', message, { path });
}

function inUse(path: string): MillraceError {
  const message = `Cannot restore into ${path}: another process uses it. Stop the servers and chats that use it, and try again`;
  return new MillraceError('in_use', message, { path });
}
