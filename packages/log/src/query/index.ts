export {
  LogIndex,
  type LogIndexOptions,
  openLogIndex,
  type QueryParameters,
  type QueryResult,
  type QueryRow,
} from './log-index.ts';
export { type QueryTable, queryTables } from './schema.ts';
