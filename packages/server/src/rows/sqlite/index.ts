export { type SqliteRowsOptions, sqliteRows } from './sqlite-rows.ts';
export { exportSqliteRows, importSqliteRows } from './transfer-rows.ts';
