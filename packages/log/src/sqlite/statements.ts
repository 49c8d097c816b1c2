import type { DatabaseSync, StatementSync } from 'node:sqlite';

type StatementName =
  | 'begin'
  | 'commit'
  | 'rollback'
  | 'dataVersion'
  | 'version'
  | 'key'
  | 'session'
  | 'hiddenSession'
  | 'sessions'
  | 'sessionsWithWork'
  | 'erasures'
  | 'noteErasure'
  | 'finishErasures'
  | 'nextEpoch'
  | 'nextSession'
  | 'putSession'
  | 'growSession'
  | 'renameSession'
  | 'producer'
  | 'putProducer'
  | 'command'
  | 'putCommand'
  | 'chunks'
  | 'rest'
  | 'overlapping'
  | 'putChunk'
  | 'dropChunk'
  | 'blobPieces'
  | 'isUnsplitBlob'
  | 'splitBlob'
  | 'putBlobPiece'
  | 'putBlob'
  | 'holdBlob'
  | 'letGoOfBlob'
  | 'dropHold'
  | 'useBlob'
  | 'unuseBlob'
  | 'dropUse'
  | 'usedBlobs'
  | 'isBlobUsed'
  | 'dropBlob'
  | 'dropForgottenBlobs'
  | 'dropForgottenHolds'
  | 'snapshotParts'
  | 'putSnapshotPart'
  | 'dropSnapshotParts';

export type Statements = { readonly [Name in StatementName]: StatementSync } & {
  readonly dropSession: readonly StatementSync[];
};

const sessionColumns =
  'id, made, rewrites, through, created_at, changed_at, is_closed, epoch, lease, open_work, queued_commands, origin, chain, sum';

const incarnation = '(SELECT incarnation FROM counters) AS incarnation';

const updates = sessionColumns
  .split(', ')
  .filter((name) => name !== 'id')
  .map((name) => `${name} = excluded.${name}`)
  .join(', ');

const placeholders = sessionColumns
  .split(', ')
  .map((name) => `$${name}`)
  .join(', ');

/**
 * Prepares all SQL statements once. Their parameters have no numbers, because Node 22.18 does not bind a
 * parameter such as `?1`.
 */
export function prepareStatements(database: DatabaseSync): Statements {
  const prepare = (sql: string) => database.prepare(sql);
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    rollback: prepare('ROLLBACK'),
    dataVersion: prepare('PRAGMA data_version'),
    version: prepare('PRAGMA user_version'),
    key: prepare('SELECT key FROM log_sessions WHERE id = ?'),
    session: prepare(
      `SELECT key, ${sessionColumns}, ${incarnation} FROM log_sessions WHERE id = ?`,
    ),
    hiddenSession: prepare(
      'SELECT 1 FROM log_sessions INDEXED BY sessions_again WHERE length(id) = length(?) AND id = ?',
    ),
    sessions: prepare(
      `SELECT key, ${sessionColumns}, ${incarnation} FROM log_sessions WHERE id > ? AND (? IS NULL OR is_closed = ?) ORDER BY id LIMIT ?`,
    ),
    sessionsWithWork: prepare(
      `SELECT key, ${sessionColumns}, ${incarnation} FROM log_sessions WHERE id > ? AND (? IS NULL OR is_closed = ?) AND is_closed = 0 AND (open_work <> '[]' OR queued_commands > 0) ORDER BY id LIMIT ?`,
    ),
    erasures: prepare('SELECT erasures FROM counters'),
    noteErasure: prepare('UPDATE counters SET erasures = erasures + 1'),
    // Resets the counter only if it has not changed. Another process may have removed more content after the
    // checkpoint began.
    finishErasures: prepare('UPDATE counters SET erasures = 0 WHERE erasures = ?'),
    nextEpoch: prepare('UPDATE counters SET drivers = drivers + 1 RETURNING drivers AS count'),
    nextSession: prepare(
      'UPDATE counters SET sessions = sessions + 1 RETURNING sessions AS made, incarnation',
    ),
    putSession: prepare(
      `INSERT INTO log_sessions (${sessionColumns}) VALUES (${placeholders}) ON CONFLICT (id) DO UPDATE SET ${updates}`,
    ),
    growSession: prepare(
      'UPDATE log_sessions SET through = ?, changed_at = ?, lease = ?, chain = ?, sum = ? WHERE key = ?',
    ),
    renameSession: prepare('UPDATE log_sessions SET id = ? WHERE key = ?'),
    producer: prepare('SELECT state, sum FROM producers WHERE session = ? AND producer = ?'),
    putProducer: prepare('INSERT OR REPLACE INTO producers VALUES (?, ?, ?, ?)'),
    command: prepare('SELECT offset, is_consumed, sum FROM commands WHERE session = ? AND key = ?'),
    putCommand: prepare('INSERT OR REPLACE INTO commands VALUES (?, ?, ?, ?, ?)'),
    chunks: prepare(
      'SELECT first, last, sum, body FROM chunks WHERE session = ? AND last > ? ORDER BY last',
    ),
    rest: prepare(
      'SELECT through, EXISTS (SELECT 1 FROM chunks WHERE session = key AND last > ?) AS has_more FROM log_sessions WHERE key = ?',
    ),
    overlapping: prepare(
      'SELECT first, last, sum, body FROM chunks WHERE session = ? AND last >= ? AND first <= ? ORDER BY last',
    ),
    putChunk: prepare(
      'INSERT INTO chunks (session, last, first, sum, body) VALUES (?, ?, ?, ?, ?)',
    ),
    dropChunk: prepare('DELETE FROM chunks WHERE session = ? AND last = ?'),
    // This is one statement, because another process may delete the blob between two statements.
    blobPieces: prepare(
      'SELECT b.length, CASE WHEN b.length IS NULL THEN b.bytes END AS whole, p.piece, p.sum, p.bytes FROM blobs b LEFT JOIN blob_pieces p ON p.hash = b.hash AND p.piece BETWEEN ? AND ? WHERE b.hash = ? ORDER BY p.piece',
    ),
    // SQLite reads the length of a blob from its header, without reading the bytes.
    isUnsplitBlob: prepare(
      'SELECT 1 FROM blobs WHERE hash = ? AND length IS NULL AND length(bytes) > ?',
    ),
    splitBlob: prepare("UPDATE blobs SET bytes = x'', length = ? WHERE hash = ?"),
    putBlob: prepare('INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)'),
    putBlobPiece: prepare('INSERT OR REPLACE INTO blob_pieces VALUES (?, ?, ?, ?)'),
    holdBlob: prepare(
      'INSERT INTO blob_holds VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET count = count + 1, put_at = excluded.put_at',
    ),
    letGoOfBlob: prepare('UPDATE blob_holds SET count = count - 1 WHERE hash = ?'),
    dropHold: prepare('DELETE FROM blob_holds WHERE hash = ? AND count <= 0'),
    useBlob: prepare(
      'INSERT INTO blob_uses VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1',
    ),
    unuseBlob: prepare('UPDATE blob_uses SET count = count - 1 WHERE session = ? AND hash = ?'),
    dropUse: prepare('DELETE FROM blob_uses WHERE session = ? AND hash = ? AND count <= 0'),
    isBlobUsed: prepare('SELECT 1 FROM blob_uses WHERE hash = ? LIMIT 1'),
    usedBlobs: prepare('SELECT hash FROM blob_uses WHERE session = ?'),
    dropBlob: prepare(
      'DELETE FROM blobs WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.hash = blobs.hash) AND NOT EXISTS (SELECT 1 FROM blob_holds WHERE blob_holds.hash = blobs.hash)',
    ),
    dropForgottenBlobs: prepare(
      'DELETE FROM blobs WHERE hash IN (SELECT hash FROM blob_holds WHERE put_at < ?) AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.hash = blobs.hash)',
    ),
    dropForgottenHolds: prepare('DELETE FROM blob_holds WHERE put_at < ?'),
    snapshotParts: prepare(
      'SELECT part, body FROM snapshots WHERE session = ? AND part >= ? ORDER BY part',
    ),
    putSnapshotPart: prepare('INSERT INTO snapshots VALUES (?, ?, ?)'),
    dropSnapshotParts: prepare(
      'DELETE FROM snapshots WHERE session = ? AND (part = 0 OR part >= ?)',
    ),
    dropSession: [
      prepare('DELETE FROM snapshots WHERE session = ?'),
      prepare('DELETE FROM chunks WHERE session = ?'),
      prepare('DELETE FROM producers WHERE session = ?'),
      prepare('DELETE FROM commands WHERE session = ?'),
      prepare('DELETE FROM blob_uses WHERE session = ?'),
      prepare('DELETE FROM log_sessions WHERE key = ?'),
    ],
  };
}
