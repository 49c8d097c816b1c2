export { type PostgresRowsOptions, postgresRows } from './postgres-rows.ts';
export {
  exportPostgresRows,
  type ImportRowsOptions,
  importPostgresRows,
} from './transfer-rows.ts';
