export { type SqliteRowsOptions, sqliteRows } from './sqlite-rows.ts';
