import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { MillraceError } from '@millrace/core';
import { databaseFiles } from '../config/config-paths.ts';
import { type BackupSummary, createPrivateFile, finishBackup } from './backup-file.ts';
import type { BackupTarget } from './backup-target.ts';

/**
 * Writes the log, its blobs and the server's rows into one file. All of them are from the same
 * moment. Other processes can write to the store during the backup. The file gets its final name
 * when it is complete.
 */
export async function writeBackup(target: BackupTarget, path: string): Promise<BackupSummary> {
  if (existsSync(path)) throw fileExists(path);
  const part = `${path}.${randomUUID()}.part`;
  try {
    createPrivateFile(part);
    const summary =
      target.type === 'files' ? await copyFiles(target, part) : await copyPostgres(target, part);
    linkIntoPlace(part, path);
    return summary;
  } finally {
    for (const file of [part, `${part}.rows`].flatMap(databaseFiles)) rmSync(file, { force: true });
  }
}

async function copyFiles(
  { log, rows }: Extract<BackupTarget, { readonly type: 'files' }>,
  part: string,
): Promise<BackupSummary> {
  for (const path of rows === undefined ? [log] : [log, rows])
    if (!existsSync(path)) throw noStore(path);
  const [{ copySqliteFiles }, { exportSqliteRows }] = await Promise.all([
    import('@millrace/log/sqlite'),
    import('@millrace/server/sqlite'),
  ]);
  if (rows !== undefined) createPrivateFile(`${part}.rows`);
  const copies = rows === undefined ? [] : [{ from: rows, to: `${part}.rows` }];
  await copySqliteFiles([{ from: log, to: part }, ...copies]);
  await migrateCopy(part);
  return finishBackup(part, rows === undefined ? undefined : exportSqliteRows(`${part}.rows`));
}

/**
 * Migrates the copy, because the store may have the tables of an earlier version. The store itself
 * does not change.
 */
async function migrateCopy(part: string): Promise<void> {
  const { sqliteLog } = await import('@millrace/log/sqlite');
  await sqliteLog({ path: part, onRewound: () => {} }).close();
}

async function copyPostgres(
  { url }: Extract<BackupTarget, { readonly type: 'postgres' }>,
  part: string,
): Promise<BackupSummary> {
  const [{ postgresSnapshot }, { exportPostgresRows }, { sqliteLog }] = await Promise.all([
    import('@millrace/log/postgres'),
    import('@millrace/server/postgres'),
    import('@millrace/log/sqlite'),
  ]);
  const snapshot = await postgresSnapshot({ url });
  try {
    const copy = sqliteLog({ path: part });
    try {
      for (const hash of await snapshot.blobHashes()) {
        const bytes = await snapshot.blob(hash);
        if (bytes !== undefined) await copy.blobs.put(bytes);
      }
      for await (const { info, records } of snapshot.sessions()) {
        const { session, through, createdAt, changedAt, isClosed, origin } = info;
        await copy.restore(session, records, { through, createdAt, changedAt, isClosed, origin });
      }
    } finally {
      await copy.close();
    }
    return await finishBackup(part, exportPostgresRows(snapshot.query));
  } finally {
    await snapshot.close();
  }
}

/**
 * Gives the finished file its final name with a hard link. A hard link fails if a file with this
 * name exists. A rename would replace that file.
 */
function linkIntoPlace(part: string, path: string): void {
  try {
    linkSync(part, path);
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === 'EEXIST') throw fileExists(path);
    // Some file systems do not support hard links.
    renameSync(part, path);
  }
}

function fileExists(path: string): MillraceError {
  const message = `Cannot back up to ${path}: the file exists. Choose another path, or remove the file`;
  return new MillraceError('file_exists', message, { path });
}

function noStore(path: string): MillraceError {
  const message = `Cannot back up ${path}: it does not exist. Choose the store with --store or --data`;
  return new MillraceError('no_store', message, { path });
}
