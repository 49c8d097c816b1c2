import { setTimeout } from 'node:timers/promises';
import type { StoredRow } from '@millrace/server';
import { type BackupTarget, notEmpty } from './backup-target.ts';

interface RestorePostgresOptions {
  readonly target: Extract<BackupTarget, { readonly type: 'postgres' }>;
  /** The path of a copy of the backup. The copy can be opened as a log. */
  readonly copy: string;
  readonly rows: () => Iterable<StoredRow>;
  readonly replace: boolean;
}

/** The schemas of a server. A restore first fills temporary schemas, which then replace these. */
const schemas = { log: 'millrace_log', rows: 'millrace_rows' } as const;
const prepared = { log: 'millrace_log_restoring', rows: 'millrace_rows_restoring' } as const;
/**
 * The functions of a log. Each function contains the name of its schema. After a schema is renamed,
 * this name must be set again.
 */
const functions = ['renew_incarnation()', 'note_history(text)'];

/**
 * Restores a backup into Postgres. It fills new schemas. Then one transaction replaces the old
 * schemas with the new ones. Running servers continue with the restored data.
 */
export async function restorePostgres(options: RestorePostgresOptions): Promise<void> {
  const { target, copy, rows, replace } = options;
  const { Client } = await import('pg');
  const { importPostgresRows } = await import('@millrace/server/postgres');
  const client = new Client({ connectionString: target.url });
  await client.connect();
  try {
    if (!replace && !(await isEmpty(client))) throw notEmpty(target.name);
    // An earlier restore that was interrupted may have left these schemas.
    for (const schema of Object.values(prepared))
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    const lastEpoch = await copyLog(copy, target.url);
    await importPostgresRows({ url: target.url, schema: prepared.rows }, rows());
    await replaceSchemas(client, lastEpoch);
  } finally {
    await client.end();
  }
}

/** Maximum number of tries for the transaction. Other processes can cause deadlocks. */
const maxTries = 50;

/**
 * Replaces the old schemas with the prepared ones. Running servers lock the tables in a different
 * order, so Postgres may cancel this transaction because of a deadlock. A cancelled transaction has
 * no effect and is tried again.
 */
async function replaceSchemas(client: Queries, lastEpoch: number, tries = 1): Promise<void> {
  try {
    await client.query('BEGIN');
    await replaceInTransaction(client, lastEpoch);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    const { code } = error as { readonly code?: unknown };
    if (code !== deadlockCode || tries >= maxTries) throw error;
    await setTimeout(20 * Math.min(tries, 10));
    await replaceSchemas(client, lastEpoch, tries + 1);
  }
}

/** The error code of Postgres for a deadlock. */
const deadlockCode = '40P01';

async function replaceInTransaction(client: Queries, lastEpoch: number): Promise<void> {
  const used = Math.max(lastEpoch, await lastEpochIn(client));
  for (const name of ['log', 'rows'] as const) {
    await client.query(`DROP SCHEMA IF EXISTS ${schemas[name]} CASCADE`);
    await client.query(`ALTER SCHEMA ${prepared[name]} RENAME TO ${schemas[name]}`);
  }
  for (const name of functions)
    await client.query(`ALTER FUNCTION ${schemas.log}.${name} SET search_path = ${schemas.log}`);
  // The new incarnation notifies the running servers, which then read the restored log.
  await client.query(`SELECT ${schemas.log}.renew_incarnation()`);
  // The sequence continues after the last epoch of the backup and of the replaced log. So no epoch
  // is used twice.
  const drivers = `'${schemas.log}.drivers'`;
  await client.query(`SELECT setval(${drivers}, $1 + nextval(${drivers}))`, [used]);
}

interface Queries {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** Returns true if the server has no sessions and no rows. */
async function isEmpty(client: Queries): Promise<boolean> {
  const tables = [
    [schemas.log, 'sessions'],
    [schemas.rows, 'rows'],
  ] as const;
  for (const [schema, table] of tables) {
    const exists = 'SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2';
    if ((await client.query(exists, [schema, table])).rows.length === 0) continue;
    if ((await client.query(`SELECT 1 FROM ${schema}.${table} LIMIT 1`)).rows.length > 0)
      return false;
  }
  return true;
}

/**
 * Returns the last epoch of the log that the restore replaces. Returns 0 if the database has no
 * log.
 */
async function lastEpochIn(client: Queries): Promise<number> {
  const exists = 'SELECT 1 FROM pg_sequences WHERE schemaname = $1 AND sequencename = $2';
  if ((await client.query(exists, [schemas.log, 'drivers'])).rows.length === 0) return 0;
  const { rows } = await client.query(`SELECT last_value FROM ${schemas.log}.drivers`);
  return Number((rows[0] as { readonly last_value?: unknown } | undefined)?.last_value ?? 0);
}

/** Copies the log into the prepared schema. Returns the last epoch of the backup. */
async function copyLog(copy: string, url: string): Promise<number> {
  const [{ postgresLog }, { sqliteLog }, { DatabaseSync }] = await Promise.all([
    import('@millrace/log/postgres'),
    import('@millrace/log/sqlite'),
    import('node:sqlite'),
  ]);
  const database = new DatabaseSync(copy, { readOnly: true });
  const hashes = database
    .prepare('SELECT hash FROM blobs')
    .all()
    .map(({ hash }) => String(hash));
  const lastEpoch = Number(database.prepare('SELECT drivers FROM counters').get()?.['drivers']);
  database.close();
  const from = sqliteLog({ path: copy });
  const to = postgresLog({ url, schema: prepared.log });
  try {
    await to.ready();
    for (const hash of hashes) {
      const bytes = await from.blobs.get(hash);
      if (bytes !== undefined) await to.blobs.put(bytes);
    }
    for (const { session, through, createdAt, changedAt, isClosed, origin } of await from.list()) {
      const { records } = await from.read(session, { maxBytes: Number.POSITIVE_INFINITY });
      await to.restore(session, records, { through, createdAt, changedAt, isClosed, origin });
    }
    return lastEpoch;
  } finally {
    await from.close();
    await to.close();
  }
}
