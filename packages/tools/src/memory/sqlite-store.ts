import type { DatabaseSync } from 'node:sqlite';
import { type JsonObject, parseJson } from '@millrace/core';
import {
  type VectorEntry,
  type VectorMatch,
  type VectorStore,
  VectorStoreError,
} from '../contract/vector-store.ts';
import { asDocument } from './in-memory-store.ts';
import {
  assertStoreOptions,
  checkEntries,
  checkName,
  checkQuery,
  checkTableName,
  checkWhole,
  maxDimensions,
} from './vector-checks.ts';

/** Options of `openSqliteVectorStore`. */
export interface SqliteVectorStoreOptions {
  /**
   * The path of the database file. If the file does not exist, it is created, and only its owner can read it (0600). If
   * all users can read a file that exists, the file becomes private. `:memory:` needs no file.
   */
  readonly path: string;
  /** The length of the vectors that your embedding model returns. */
  readonly dimensions: number;
  /** The name of the table. Default: `millrace_vectors`. */
  readonly table?: string | undefined;
}

/** A vector store that keeps a file open. */
export interface SqliteVectorStore extends VectorStore {
  /** Closes the database. Later calls throw. */
  close(): void;
}

/**
 * Opens a store in a SQLite file. It needs the package `sqlite-vec`. A search reads every vector of the
 * scope. For example, 100,000 vectors of 1536 numbers are 600 MB.
 *
 * @example
 * const store = await openSqliteVectorStore({ path: 'memory.db', dimensions: 1536 });
 */
export async function openSqliteVectorStore(
  options: SqliteVectorStoreOptions,
): Promise<SqliteVectorStore> {
  assertStoreOptions('openSqliteVectorStore', options, {
    ...{ path: true, dimensions: true, table: true },
  });
  const { path, dimensions, table = 'millrace_vectors' } = options;
  checkWhole('dimensions', dimensions, 1, maxDimensions);
  checkTableName(table);
  const database = await openDatabase(path);
  try {
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA busy_timeout = 5000;
      CREATE TABLE IF NOT EXISTS ${table} (
        scope TEXT NOT NULL, id TEXT NOT NULL, document TEXT, text TEXT NOT NULL,
        metadata TEXT, vector BLOB NOT NULL, PRIMARY KEY (scope, id)
      ) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS ${table}_document ON ${table} (scope, document);`);
    checkStoredDimensions(database, table, dimensions);
    return storeOn(database, table, dimensions);
  } catch (error) {
    database.close();
    throw error;
  }
}

function storeOn(database: DatabaseSync, table: string, dimensions: number): SqliteVectorStore {
  const insert = database.prepare(
    `INSERT OR REPLACE INTO ${table} (scope, id, document, text, metadata, vector)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const removeOne = database.prepare(`DELETE FROM ${table} WHERE scope = ? AND id = ?`);
  const removeDocument = database.prepare(`DELETE FROM ${table} WHERE scope = ? AND document = ?`);
  const nearest = database.prepare(
    `SELECT id, document, text, metadata, vec_distance_cosine(vector, ?) AS distance
     FROM ${table} WHERE scope = ? ORDER BY distance, id LIMIT ?`,
  );
  const insertAll = (entries: readonly VectorEntry[]) => {
    for (const { scope, id, document = null, text, metadata, vector } of entries) {
      const facts = metadata === undefined ? null : JSON.stringify(metadata);
      insert.run(scope, id, document, text, facts, blobOf(vector));
    }
  };
  const inTransaction = <Result>(work: () => Result): Result => {
    database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
  };
  return {
    dimensions,
    put: async (entries) => {
      checkEntries(entries, dimensions);
      inTransaction(() => insertAll(entries));
    },
    replaceDocument: async (scope, document, entries) => {
      checkName('scope', scope);
      checkName('document', document);
      const parts = asDocument(scope, document, entries);
      checkEntries(parts, dimensions);
      inTransaction(() => {
        removeDocument.run(scope, document);
        insertAll(parts);
      });
    },
    remove: async (scope, ids) =>
      inTransaction(() =>
        ids.reduce((removed, id) => removed + Number(removeOne.run(scope, id).changes), 0),
      ),
    search: async (query) => {
      checkQuery(query, dimensions);
      return nearest.all(blobOf(query.vector), query.scope, query.limit).map(matchOf);
    },
    close: () => database.close(),
  };
}

/** Returns the vector in the format of sqlite-vec: 32 bits per number, the lowest byte first. */
function blobOf(vector: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  for (const [at, value] of vector.entries()) view.setFloat32(at * 4, value, true);
  return new Uint8Array(view.buffer);
}

function matchOf(row: Readonly<Record<string, unknown>>): VectorMatch {
  const { id, document, text, metadata, distance } = row;
  return {
    ...{ id: String(id), text: String(text), similarity: 1 - Number(distance) },
    ...(typeof document === 'string' ? { document } : {}),
    ...(typeof metadata === 'string' ? { metadata: objectOf(metadata) } : {}),
  };
}

function objectOf(json: string): JsonObject {
  const parsed = parseJson(json);
  return parsed.ok ? (parsed.value as JsonObject) : {};
}

async function openDatabase(path: string): Promise<DatabaseSync> {
  const { load } = await loadExtension();
  const { openPrivateDatabase } = await import('@millrace/log/sqlite');
  const database = openPrivateDatabase(path, { allowExtension: true, makesPrivate: true });
  try {
    load(database);
    // After this line, statements can load no more extensions.
    database.enableLoadExtension(false);
    return database;
  } catch (error) {
    database.close();
    throw noExtension('Cannot load sqlite-vec: install it again for this platform', error);
  }
}

async function loadExtension(): Promise<{ load(database: DatabaseSync): void }> {
  try {
    return await import('sqlite-vec');
  } catch (error) {
    throw noExtension('Cannot open the store: install the package sqlite-vec', error);
  }
}

function noExtension(message: string, cause: unknown): VectorStoreError {
  return new VectorStoreError('no_extension', message, {}, { cause });
}

function checkStoredDimensions(database: DatabaseSync, table: string, dimensions: number): void {
  const row = database.prepare(`SELECT length(vector) / 4 AS stored FROM ${table} LIMIT 1`).get();
  if (row === undefined || row['stored'] === dimensions) return;
  const way = 'use the same embedding model, or another table';
  const message = `Cannot use ${dimensions} dimensions: the table ${table} has vectors of ${row['stored']}; ${way}`;
  throw new VectorStoreError('wrong_dimensions', message, { table });
}
