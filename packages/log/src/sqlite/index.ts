export { copySqliteFiles, type FileCopy } from './copy-files.ts';
export type { RewindEvent, RewindReason } from './lineage.ts';
export type { Durability } from './open-database.ts';
export { type SqliteLog, type SqliteLogOptions, sqliteLog } from './sqlite-log.ts';
