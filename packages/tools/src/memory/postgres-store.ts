import type { JsonObject } from '@millrace/core';
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
} from './vector-checks.ts';

/** The method of a Postgres client that the store needs. A `Pool` or a `Client` of `pg` has it. */
export interface PostgresClient {
  /** Runs one statement with its parameters. */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
}

/** Options of `openPostgresVectorStore`. */
export interface PostgresVectorStoreOptions {
  /** The connection. The caller must close it. */
  readonly client: PostgresClient;
  /** The length of the vectors that your embedding model returns. pgvector supports up to 16,000. */
  readonly dimensions: number;
  /** The name of the table, in the schema of the connection. Default: `millrace_vectors`. */
  readonly table?: string | undefined;
}

/** Maximum number of dimensions of a pgvector column. */
const maxColumnDimensions = 16_000;

/**
 * Opens a store in Postgres. It uses the extension pgvector. The extension and the table are created if
 * they do not exist. A search reads every vector of the scope, so its result is exact.
 *
 * @example
 * const store = await openPostgresVectorStore({ client: new Pool(), dimensions: 1536 });
 */
export async function openPostgresVectorStore(
  options: PostgresVectorStoreOptions,
): Promise<VectorStore> {
  assertStoreOptions('openPostgresVectorStore', options, {
    ...{ client: true, dimensions: true, table: true },
  });
  const { client, dimensions, table = 'millrace_vectors' } = options;
  checkWhole('dimensions', dimensions, 1, maxColumnDimensions);
  checkTableName(table);
  await createExtension(client);
  // The collation makes the sort order of names independent of the database's language.
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${table} (
       scope text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, document text COLLATE "C",
       text text NOT NULL, metadata jsonb, vector vector(${dimensions}) NOT NULL,
       PRIMARY KEY (scope, id))`,
  );
  await client.query(`CREATE INDEX IF NOT EXISTS ${table}_document ON ${table} (scope, document)`);
  await checkColumn(client, table, dimensions);
  return storeOn(client, table, dimensions);
}

function storeOn(client: PostgresClient, table: string, dimensions: number): VectorStore {
  /**
   * Returns the rows as JSON. If several entries have the same id, only the last one is kept, because a
   * statement can change a row only once.
   */
  const rowsOf = (entries: readonly VectorEntry[]): string => {
    const rows = entries.map(({ scope, id, document, text, metadata, vector }) => {
      const row = { scope, id, document, text, metadata, vector: vectorText(vector) };
      return [JSON.stringify([scope, id]), row] as const;
    });
    return JSON.stringify([...new Map(rows).values()]);
  };
  const insert = (rows: string) => `
    INSERT INTO ${table} (scope, id, document, text, metadata, vector)
    SELECT scope, id, document, text, metadata, vector::vector
    FROM jsonb_to_recordset(${rows}::jsonb)
      AS row(scope text, id text, document text, text text, metadata jsonb, vector text)
    ON CONFLICT (scope, id) DO UPDATE SET document = excluded.document, text = excluded.text,
      metadata = excluded.metadata, vector = excluded.vector`;
  return {
    dimensions,
    put: async (entries) => {
      checkEntries(entries, dimensions);
      await client.query(insert('$1'), [rowsOf(entries)]);
    },
    replaceDocument: async (scope, document, entries) => {
      checkName('scope', scope);
      checkName('document', document);
      const parts = asDocument(scope, document, entries);
      checkEntries(parts, dimensions);
      const ids = parts.map(({ id }) => id);
      // A single statement, because a search must never see half of a document.
      await client.query(
        `WITH removed AS (
           DELETE FROM ${table} WHERE scope = $2 AND document = $3 AND id <> ALL($4::text[]))
         ${insert('$1')}`,
        [rowsOf(parts), scope, document, ids],
      );
    },
    remove: async (scope, ids) => {
      const { rows } = await client.query(
        `DELETE FROM ${table} WHERE scope = $1 AND id = ANY($2::text[]) RETURNING id`,
        [scope, [...ids]],
      );
      return rows.length;
    },
    search: async (query) => {
      checkQuery(query, dimensions);
      const { rows } = await client.query(
        `SELECT id, document, text, metadata::text AS metadata, vector <=> $1::vector AS distance
         FROM ${table} WHERE scope = $2 ORDER BY distance, id LIMIT $3`,
        [vectorText(query.vector), query.scope, query.limit],
      );
      return rows.map(matchOf);
    },
  };
}

/**
 * Returns the vector in pgvector's text form. pgvector stores 32 bits per number, so more digits would be
 * lost.
 */
function vectorText(vector: readonly number[]): string {
  return `[${vector.map((value) => Math.fround(value)).join(',')}]`;
}

function matchOf(row: Readonly<Record<string, unknown>>): VectorMatch {
  const { id, document, text, metadata, distance } = row;
  return {
    ...{ id: String(id), text: String(text), similarity: 1 - Number(distance) },
    ...(typeof document === 'string' ? { document } : {}),
    ...(typeof metadata === 'string' ? { metadata: JSON.parse(metadata) as JsonObject } : {}),
  };
}

/**
 * Creates the extension if it does not exist. It checks this first, because the creation needs permissions
 * that the application may not have.
 */
async function createExtension(client: PostgresClient): Promise<void> {
  const find = `SELECT 1 FROM pg_extension WHERE extname = 'vector'`;
  if ((await client.query(find)).rows.length > 0) return;
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS vector');
  } catch (error) {
    throw noExtension(error);
  }
}

function noExtension(cause: unknown): VectorStoreError {
  const message =
    'Cannot create the extension vector: install pgvector on the server, and run CREATE EXTENSION vector as its owner';
  return new VectorStoreError('no_extension', message, {}, { cause });
}

/**
 * Throws if the column has a different number of dimensions. pgvector stores this number in the type modifier
 * of the column.
 */
async function checkColumn(client: PostgresClient, table: string, wanted: number): Promise<void> {
  const { rows } = await client.query(
    `SELECT atttypmod AS stored FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attname = 'vector'`,
    [table],
  );
  const stored = Number(rows[0]?.['stored']);
  if (stored === wanted) return;
  const way = 'use the same embedding model, or another table';
  const message = `Cannot use ${wanted} dimensions: the table ${table} has vectors of ${stored}; ${way}`;
  throw new VectorStoreError('wrong_dimensions', message, { table });
}
