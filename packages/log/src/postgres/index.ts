export {
  Database as PostgresDatabase,
  type DatabaseOptions,
  type Query,
} from './database/database.ts';
export { type Target as PostgresTarget, targetOf as postgresTarget } from './database/target.ts';
export { type PostgresLog, type PostgresLogOptions, postgresLog } from './postgres-log.ts';
export {
  type PostgresSnapshot,
  type PostgresSnapshotOptions,
  postgresSnapshot,
  type SnapshotSession,
} from './snapshot.ts';
