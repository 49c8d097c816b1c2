import type { SessionColumns } from '../../storage/session-row.ts';

/** The columns of a session that a query returns, with the incarnation of the log. */
export type FoundSession = SessionColumns & { readonly incarnation: number };

/** A session in a list, with the server's time when it was read. */
export type ListedSession = FoundSession & { readonly now: number };

/** The columns of the table `sessions` and their types, in the order in which they are written. */
export const sessionColumns: readonly (readonly [keyof SessionColumns, string])[] = [
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
  ['chain', 'text'],
];

const columns = sessionColumns.map(([name]) => name).join(', ');
const pageColumns = sessionColumns
  .map(([name, type]) =>
    type === 'text'
      ? `CASE WHEN coalesce(c.place, 1) = 1 THEN s.${name} END AS ${name}`
      : `s.${name}`,
  )
  .join(', ');
const updates = sessionColumns
  .filter(([name]) => name !== 'id')
  .map(([name]) => `${name} = excluded.${name}`)
  .join(', ');
const arrays = (types: readonly string[], from: number): string =>
  `unnest(${types.map((type, index) => `$${from + index}::${type}[]`).join(', ')})`;

/** The row of a killed writer is kept for this number of hours after its last commit or connection. */
export const writerRetentionHours = 24;

type StatementName =
  | 'register'
  | 'stampOf'
  | 'dropWriter'
  | 'dropGoneWriters'
  | 'sessionsById'
  | 'list'
  | 'listWithWork'
  | 'nextEpochs'
  | 'nextMade'
  | 'producers'
  | 'commands'
  | 'chunksAfter'
  | 'page'
  | 'usesOf'
  | 'blobSlice'
  | 'write'
  | 'dropChunks'
  | 'dropSessions'
  | 'putBlob'
  | 'putBlobPiece'
  | 'holdBlobs'
  | 'changeHolds'
  | 'dropHolds'
  | 'useBlobs'
  | 'dropUses'
  | 'dropBlobs'
  | 'forgottenBlobs'
  | 'dropForgottenHolds'
  | 'snapshotParts'
  | 'putSnapshotParts'
  | 'dropSnapshotParts';

/**
 * SQL for the server's clock in milliseconds since 1970. Unlike `now()`, it also advances during a
 * transaction.
 */
export const serverTime: string = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';

export type Statements = { readonly [Name in StatementName]: string } & {
  readonly dropOwned: readonly string[];
};

/** Returns all SQL statements for one schema. Statements for many rows take one array per column. */
export function statementsIn(schema: string): Statements {
  const table = (name: string) => `${schema}.${name}`;
  const afterSessions = sessionColumns.length + 1;
  const incarnation = `(SELECT incarnation FROM ${table('log_state')}) AS incarnation`;
  return {
    // The row must exist before the first commit, because a missing row cannot be locked. Another process may
    // be deleting this row because the writer was idle. The statement then waits for the end of that
    // transaction.
    register: `INSERT INTO ${table('log_writers')} VALUES ($1, 0, now())
      ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
    // The comparison uses only the server's clock. The statement skips locked rows, because their writers are
    // alive.
    dropGoneWriters: `DELETE FROM ${table('log_writers')} WHERE id IN (
      SELECT id FROM ${table('log_writers')}
      WHERE seen_at < now() - interval '${writerRetentionHours} hours' FOR UPDATE SKIP LOCKED)`,
    // The row lock makes this statement wait while a transaction of that writer is running.
    stampOf: `SELECT commits FROM ${table('log_writers')} WHERE id = $1 FOR UPDATE`,
    dropWriter: `DELETE FROM ${table('log_writers')} WHERE id = $1`,
    sessionsById: `SELECT ${columns}, ${incarnation} FROM ${table('sessions')} WHERE id = ANY ($1::text[])`,
    list: `SELECT ${columns}, ${incarnation}, ${serverTime} AS now FROM ${table('sessions')}
      WHERE id > $1 AND ($2::boolean IS NULL OR is_closed = $2) ORDER BY id LIMIT $3`,
    listWithWork: `SELECT ${columns}, ${incarnation}, ${serverTime} AS now FROM ${table('sessions')}
      WHERE id > $1 AND ($2::boolean IS NULL OR is_closed = $2)
        AND NOT is_closed AND (open_work <> '[]' OR queued_commands > 0) ORDER BY id LIMIT $3`,
    nextEpochs: `SELECT nextval('${table('drivers')}') AS number FROM generate_series(1, $1)`,
    nextMade: `SELECT nextval('${table('made')}') AS number, ${incarnation} FROM generate_series(1, $1)`,
    producers: `SELECT made, producer, state FROM ${table('producers')}
      WHERE (made, producer) IN (SELECT * FROM ${arrays(['bigint', 'text'], 1)})`,
    commands: `SELECT made, key, at_offset, is_consumed FROM ${table('commands')}
      WHERE (made, key) IN (SELECT * FROM ${arrays(['bigint', 'text'], 1)})`,
    chunksAfter: `SELECT first, last, body FROM ${table('chunks')}
      WHERE made = $1 AND last > $2 ORDER BY last`,
    /**
     * Reads the session together with its chunks, so that both are from the same moment. Only the first row
     * contains the text columns.
     */
    page: `SELECT ${pageColumns}, ${incarnation}, c.first, c.last, c.body
      FROM ${table('sessions')} s LEFT JOIN LATERAL (
        SELECT first, last, body, row_number() OVER (ORDER BY last) AS place
        FROM ${table('chunks')} WHERE made = s.made AND last > $2 ORDER BY last LIMIT $3
      ) c ON true WHERE s.id = $1 ORDER BY c.last`,
    usesOf: `SELECT hash, count FROM ${table('blob_uses')} WHERE made = $1`,
    /**
     * Reads a slice of a blob. Postgres counts bytes from 1. A large blob is stored in pieces. $4 and $5 are
     * the first and last piece, and $6 is the start of the slice inside these pieces.
     */
    blobSlice: `SELECT coalesce(length, octet_length(bytes)) AS length, CASE
        WHEN length IS NULL THEN substring(bytes FROM $2::int FOR $3::int)
        ELSE substring((SELECT string_agg(p.bytes, ''::bytea ORDER BY piece)
          FROM ${table('blob_pieces')} p WHERE p.hash = b.hash AND piece BETWEEN $4 AND $5)
          FROM $6::int FOR $3::int)
      END AS bytes FROM ${table('blobs')} b WHERE hash = $1`,
    /**
     * Writes sessions, chunks, producers and commands in one statement. The server notifies listeners at
     * the commit. Returns the version of the tables.
     */
    write: `WITH put_sessions AS (
        INSERT INTO ${table('sessions')} (${columns})
        SELECT * FROM ${arrays(
          sessionColumns.map(([, type]) => type),
          1,
        )}
        ON CONFLICT (id) DO UPDATE SET ${updates}
      ), put_chunks AS (
        INSERT INTO ${table('chunks')} (made, first, last, body)
        SELECT * FROM ${arrays(['bigint', 'bigint', 'bigint', 'text'], afterSessions)}
      ), put_producers AS (
        INSERT INTO ${table('producers')} (made, producer, state)
        SELECT * FROM ${arrays(['bigint', 'text', 'text'], afterSessions + 4)}
        ON CONFLICT (made, producer) DO UPDATE SET state = excluded.state
      ), put_commands AS (
        INSERT INTO ${table('commands')} (made, key, at_offset, is_consumed)
        SELECT * FROM ${arrays(['bigint', 'text', 'bigint', 'boolean'], afterSessions + 7)}
        ON CONFLICT (made, key)
        DO UPDATE SET at_offset = excluded.at_offset, is_consumed = excluded.is_consumed
      ), stamp AS (
        INSERT INTO ${table('log_writers')} VALUES ($${afterSessions + 11}, $${afterSessions + 12}, now())
        ON CONFLICT (id) DO UPDATE SET commits = excluded.commits, seen_at = excluded.seen_at
      )
      SELECT pg_notify($${afterSessions + 13}, $${afterSessions + 14}),
        (SELECT version FROM ${table('version')}) AS version`,
    dropChunks: `DELETE FROM ${table('chunks')} c USING ${arrays(['bigint', 'bigint', 'bigint'], 1)}
      AS gone (made, first, last)
      WHERE c.made = gone.made AND c.last >= gone.first AND c.first <= gone.last`,
    dropOwned: ['chunks', 'producers', 'commands', 'blob_uses', 'snapshots'].map(
      (name) => `DELETE FROM ${table(name)} WHERE made = ANY ($1::bigint[])`,
    ),
    dropSessions: `DELETE FROM ${table('sessions')} WHERE id = ANY ($1::text[])`,
    putBlob: `INSERT INTO ${table('blobs')} VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING hash`,
    putBlobPiece: `INSERT INTO ${table('blob_pieces')} VALUES ($1, $2, $3)`,
    holdBlobs: `INSERT INTO ${table('blob_holds')} (hash, count, put_at)
      SELECT hash, greatest(added, least_count), put_at
      FROM ${arrays(['text', 'bigint', 'bigint', 'double precision'], 1)}
        AS new (hash, added, least_count, put_at)
      ON CONFLICT (hash) DO NOTHING`,
    changeHolds: `UPDATE ${table('blob_holds')} h
      SET count = greatest(h.count + new.added, new.least_count),
        put_at = greatest(h.put_at, new.put_at)
      FROM ${arrays(['text', 'bigint', 'bigint', 'double precision'], 1)}
        AS new (hash, added, least_count, put_at)
      WHERE h.hash = new.hash`,
    dropHolds: `DELETE FROM ${table('blob_holds')} WHERE hash = ANY ($1::text[]) AND count <= 0`,
    useBlobs: `INSERT INTO ${table('blob_uses')} AS u (made, hash, count)
      SELECT * FROM ${arrays(['bigint', 'text', 'bigint'], 1)}
      ON CONFLICT (made, hash) DO UPDATE SET count = u.count + excluded.count`,
    dropUses: `DELETE FROM ${table('blob_uses')} WHERE hash = ANY ($1::text[]) AND count <= 0`,
    dropBlobs: `DELETE FROM ${table('blobs')} b WHERE hash = ANY ($1::text[])
      AND NOT EXISTS (SELECT 1 FROM ${table('blob_uses')} u WHERE u.hash = b.hash)
      AND NOT EXISTS (SELECT 1 FROM ${table('blob_holds')} h WHERE h.hash = b.hash) RETURNING hash`,
    snapshotParts: `SELECT p.part, p.body FROM ${table('sessions')} s JOIN LATERAL (
        SELECT part, body FROM ${table('snapshots')} WHERE made = s.made AND part >= $2
        ORDER BY part LIMIT $3
      ) p ON true WHERE s.id = $1 ORDER BY p.part`,
    putSnapshotParts: `INSERT INTO ${table('snapshots')} (made, part, body)
      SELECT $1, new.part, new.body FROM ${arrays(['integer', 'text'], 2)} AS new (part, body)`,
    dropSnapshotParts: `DELETE FROM ${table('snapshots')}
      WHERE made = $1 AND (part = 0 OR part >= $2)`,
    forgottenBlobs: `SELECT hash FROM ${table('blob_holds')} WHERE put_at < $1 LIMIT $2`,
    dropForgottenHolds: `DELETE FROM ${table('blob_holds')} WHERE hash = ANY ($1::text[]) AND put_at < $2`,
  };
}
