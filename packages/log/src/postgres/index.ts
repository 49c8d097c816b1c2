export type { Ask } from './ask.ts';
export { Database as PostgresDatabase, type DatabaseOptions } from './database.ts';
export { type PostgresLog, type PostgresLogOptions, postgresLog } from './postgres-log.ts';
export { type Target as PostgresTarget, targetOf as postgresTarget } from './target.ts';
