import type { SessionFields } from '../shelf/session-fields.ts';

/** In the order in which they are written, with their types. */
export const sessionColumns: readonly (readonly [keyof SessionFields, string])[] = [
  ['id', 'text'],
  ['made', 'bigint'],
  ['rewrites', 'bigint'],
  ['through', 'bigint'],
  ['created_at', 'double precision'],
  ['changed_at', 'double precision'],
  ['is_closed', 'boolean'],
  ['epoch', 'bigint'],
  ['lease', 'text'],
  ['open_work', 'text'],
  ['queued_commands', 'bigint'],
  ['origin', 'text'],
];
