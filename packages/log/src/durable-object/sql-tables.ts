import { LogError } from '../contract/log-error.ts';
import { randomIncarnation } from '../storage/incarnation.ts';

/** The types of values that statements take and return. */
export type SqlValue = ArrayBuffer | string | number | null;

/** The result of a statement. */
export interface SqlCursor {
  /** Returns all rows. */
  toArray(): Record<string, SqlValue>[];
}

/** The storage of a Durable Object with SQLite: `ctx.storage`. */
export interface DurableObjectStorage {
  readonly sql: {
    /** Runs one or more statements. The values are bound to the last statement. */
    exec(query: string, ...bindings: SqlValue[]): SqlCursor;
  };
  /** Runs the function in a transaction, which is rolled back if the function throws. */
  transactionSync<T>(work: () => T): T;
}

/** The version of the tables. */
const schemaVersion = 2;

/**
 * The maximum length of a piece of text, and the maximum size of a piece of a blob. A row of a Durable
 * Object has at most 2 MB, and a character needs at most 3 bytes. Longer texts and blobs are therefore
 * stored in pieces.
 */
const textPieceLength = 500_000;
export const blobPieceBytes = 1_500_000;

/**
 * The statements that create the tables. The table names start with `millrace_`, because the object may
 * have other tables.
 */
const tables = [
  'CREATE TABLE millrace_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  `CREATE TABLE millrace_sessions (
     id TEXT PRIMARY KEY,
     made INTEGER NOT NULL,
     is_closed INTEGER NOT NULL,
     has_work INTEGER NOT NULL,
     columns TEXT NOT NULL
   ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX millrace_sessions_with_work ON millrace_sessions (id) WHERE has_work = 1',
  `CREATE TABLE millrace_chunks (
     made INTEGER NOT NULL,
     last INTEGER NOT NULL,
     piece INTEGER NOT NULL,
     first INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (made, last, piece)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE millrace_producers (
     made INTEGER NOT NULL,
     name TEXT NOT NULL,
     state TEXT NOT NULL,
     PRIMARY KEY (made, name)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE millrace_commands (
     made INTEGER NOT NULL,
     key TEXT NOT NULL,
     state TEXT NOT NULL,
     PRIMARY KEY (made, key)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE millrace_blobs (
     hash TEXT NOT NULL,
     piece INTEGER NOT NULL,
     bytes BLOB NOT NULL,
     PRIMARY KEY (hash, piece)
   ) STRICT`,
  `CREATE TABLE millrace_blob_holds (
     hash TEXT PRIMARY KEY,
     count INTEGER NOT NULL,
     put_at REAL NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE millrace_blob_uses (
     made INTEGER NOT NULL,
     hash TEXT NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (made, hash)
   ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX millrace_blob_uses_by_hash ON millrace_blob_uses (hash)',
];

/**
 * Creates the tables, or migrates tables of an earlier version. Throws if a later version created the tables.
 */
export function createTables(storage: DurableObjectStorage): void {
  const run = (query: string, ...bindings: SqlValue[]) =>
    storage.sql.exec(query, ...bindings).toArray();
  storage.transactionSync(() => {
    const found = run("SELECT 1 FROM sqlite_master WHERE name = 'millrace_meta'");
    if (found.length === 0) {
      for (const table of tables) run(table);
      const numbers = { epochs: 0, sessions: 0, incarnation: randomIncarnation() };
      const counters = { version: schemaVersion, ...numbers };
      for (const [name, value] of Object.entries(counters))
        run('INSERT INTO millrace_meta VALUES (?, ?)', name, value);
      return;
    }
    const [row] = run("SELECT value FROM millrace_meta WHERE name = 'version'");
    const version = Number(row?.['value']);
    if (version > schemaVersion) throw tooNew(version);
    if (version === schemaVersion) return;
    run("INSERT INTO millrace_meta VALUES ('incarnation', ?)", randomIncarnation());
    run("UPDATE millrace_meta SET value = ? WHERE name = 'version'", schemaVersion);
  });
}

function tooNew(version: number): LogError {
  const message = `Cannot open the log of this Durable Object: its tables have version ${version}, and this program supports up to ${schemaVersion}. Use a later version of the program`;
  return new LogError('too_new', message, { version });
}

/** Splits a text into pieces that fit into a row. An empty text has one empty piece. */
export function textPieces(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    // The two halves of a surrogate pair must stay together, because one half has no UTF-8 encoding.
    const isSplitPair = /[\ud800-\udbff]/.test(text.charAt(at + textPieceLength - 1));
    const end = at + textPieceLength - (isSplitPair ? 1 : 0);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces.length === 0 ? [''] : pieces;
}

/** Splits bytes into pieces that fit into a row. An empty array has one empty piece. */
export function blobPieces(bytes: Uint8Array): readonly ArrayBuffer[] {
  const count = Math.max(1, Math.ceil(bytes.length / blobPieceBytes));
  return Array.from({ length: count }, (_, piece) => {
    const start = piece * blobPieceBytes;
    return new Uint8Array(bytes.slice(start, start + blobPieceBytes)).buffer;
  });
}
