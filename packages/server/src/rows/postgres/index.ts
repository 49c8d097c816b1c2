export { type PostgresRowsOptions, postgresRows } from './postgres-rows.ts';
