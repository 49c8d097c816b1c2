export { copySqliteFiles, type FileCopy } from './file/copy-files.ts';
export type { RewindEvent, RewindReason } from './file/lineage.ts';
export {
  assertNoForeignFiles,
  assertNotForAll,
  openPrivateDatabase,
  type PrivateDatabaseOptions,
  sharedFolderOf,
} from './file/private-database.ts';
export type { Durability } from './open-database.ts';
export { type SqliteLog, type SqliteLogOptions, sqliteLog } from './sqlite-log.ts';
