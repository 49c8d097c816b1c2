import { setTimeout } from 'node:timers/promises';
import type { StoredRow } from '@millrace/server';
import { type BackupTarget, notEmpty } from './backup-target.ts';

interface RestorePostgresOptions {
  readonly target: Extract<BackupTarget, { readonly type: 'postgres' }>;
  /** A copy of the backup that opens as a log. */
  readonly copy: string;
  readonly rows: () => Iterable<StoredRow>;
  readonly replace: boolean;
}

/** The schemas of a server, and those that a restore prepares. */
const schemas = { log: 'millrace_log', rows: 'millrace_rows' } as const;
const prepared = { log: 'millrace_log_restoring', rows: 'millrace_rows_restoring' } as const;
/** The functions of a log refer to their schema by its name. */
const functions = ['renew_incarnation()', 'note_history(text)'];

/**
 * Restores into Postgres. It prepares new schemas, and one transaction puts them in the place of the
 * old ones. Servers that are running continue with the restored data.
 */
export async function restorePostgres(options: RestorePostgresOptions): Promise<void> {
  const { target, copy, rows, replace } = options;
  const { Client } = await import('pg');
  const { importPostgresRows } = await import('@millrace/server/postgres');
  const client = new Client({ connectionString: target.url });
  await client.connect();
  try {
    if (!replace && !(await isEmpty(client))) throw notEmpty(target.name);
    // A restore that was interrupted may have left them.
    for (const schema of Object.values(prepared))
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    const lastEpoch = await copyLog(copy, target.url);
    await importPostgresRows({ url: target.url, schema: prepared.rows }, rows());
    await replaceSchemas(client, lastEpoch);
  } finally {
    await client.end();
  }
}

/** How often a transaction that other processes disturbed is tried. */
const maxTries = 50;

/**
 * Puts the prepared schemas in the place of the old ones. Running servers lock tables in another
 * order, so Postgres may end this transaction as a deadlock. It has changed nothing then.
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

/** The code of Postgres for a deadlock. */
const deadlockCode = '40P01';

async function replaceInTransaction(client: Queries, lastEpoch: number): Promise<void> {
  const used = Math.max(lastEpoch, await lastEpochIn(client));
  for (const name of ['log', 'rows'] as const) {
    await client.query(`DROP SCHEMA IF EXISTS ${schemas[name]} CASCADE`);
    await client.query(`ALTER SCHEMA ${prepared[name]} RENAME TO ${schemas[name]}`);
  }
  for (const name of functions)
    await client.query(`ALTER FUNCTION ${schemas.log}.${name} SET search_path = ${schemas.log}`);
  // Wakes the followers of running servers.
  await client.query(`SELECT ${schemas.log}.renew_incarnation()`);
  // No epoch of the backup or of the replaced log is used again.
  const drivers = `'${schemas.log}.drivers'`;
  await client.query(`SELECT setval(${drivers}, $1 + nextval(${drivers}))`, [used]);
}

interface Queries {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** True if the server has no sessions and no rows. */
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

/** The last epoch of the log that is replaced. */
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
