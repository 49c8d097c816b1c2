import type { ClientBase } from 'pg';
import { LogError } from '../../contract/log-error.ts';
import { beginTransaction, lockKey } from './advisory-locks.ts';
import type { Target } from './target.ts';

/** A schema that was the default in an earlier version. */
export interface FormerSchema {
  readonly name: string;
  /** The name of a table. If the schema has this table, the schema contains the expected kind of data. */
  readonly table: string;
}

/**
 * Returns the target with the schema that has the tables. A former schema is used only if it has the tables
 * and the schema of the target does not have them.
 */
export async function findSchema(
  client: ClientBase,
  target: Target,
  former: FormerSchema | undefined,
): Promise<Target> {
  if (former === undefined || (await hasTable(client, target.schema, 'version'))) return target;
  const isFound =
    (await hasTable(client, former.name, 'version')) &&
    (await hasTable(client, former.name, former.table));
  return isFound ? { ...target, schema: former.name } : target;
}

/**
 * Returns whether a schema has a table. It does not use `to_regclass`, which may not find a table that was
 * created a moment ago.
 */
async function hasTable(client: ClientBase, schema: string, table: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2';
  return (await client.query(sql, [schema, table])).rows.length > 0;
}

/**
 * Creates the tables, or migrates tables of an earlier version. Throws if a later version created the tables.
 */
export async function migrate(
  client: ClientBase,
  target: Target,
  steps: readonly string[],
): Promise<void> {
  await assertUtf8(client, target);
  if ((await versionOf(client, target, steps.length)) === steps.length) return;
  await client.query(beginTransaction);
  try {
    // If several processes start at the same time, one process migrates the tables. The other processes wait
    // here and then find the current version.
    await client.query(`SELECT pg_advisory_xact_lock(${lockKey(target.schema, 'schema', '')})`);
    const found = await versionOf(client, target, steps.length);
    if (found === 0) await assertNotUserSchema(client, target);
    if (found < steps.length) await apply(client, target, steps.slice(found), steps.length);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function apply(
  client: ClientBase,
  { schema }: Target,
  steps: readonly string[],
  version: number,
): Promise<void> {
  // The code looks for the schema first, because a user may have an existing schema but no right to create a
  // schema.
  const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(`SET LOCAL search_path = ${schema}`);
  await client.query('CREATE TABLE IF NOT EXISTS version (version integer NOT NULL)');
  for (const step of steps) await client.query(step);
  await client.query('DELETE FROM version');
  await client.query('INSERT INTO version VALUES ($1)', [version]);
}

/** Returns the version of the tables, or 0 if there are no tables. */
async function versionOf(client: ClientBase, target: Target, known: number): Promise<number> {
  const { schema } = target;
  if (!(await hasTable(client, schema, 'version'))) return 0;
  const { rows } = await client.query(`SELECT version FROM ${schema}.version`);
  const version = Number(rows[0]?.version ?? 0);
  if (version > known) throw tooNew(target, version, known);
  return version;
}

/**
 * Throws if the schema has the name of the user. Postgres creates tables without a schema name in the schema
 * with the user's name. The tables of the application would then be in the log's schema.
 */
async function assertNotUserSchema(
  client: ClientBase,
  { name, schema, what }: Target,
): Promise<void> {
  const { rows } = await client.query('SELECT current_user AS name');
  if (rows[0]?.name !== schema) return;
  const message = `Cannot store ${what} in Postgres at ${name}: its schema ${schema} has the name of the database user, so tables of your application would be created in it. Set another \`schema\``;
  throw new LogError('bad_option', message, { host: name, schema });
}

/** Throws unless the database has the encoding UTF-8. Other encodings cannot store every text. */
async function assertUtf8(client: ClientBase, { name, what }: Target): Promise<void> {
  const { rows } = await client.query('SHOW server_encoding');
  const encoding = String(rows[0]?.server_encoding);
  if (encoding === 'UTF8') return;
  const message = `Cannot store ${what} in Postgres at ${name}: its encoding is ${encoding}. Create a database with ENCODING 'UTF8'`;
  throw new LogError('storage', message, { host: name, encoding });
}

/** Returns the error for tables that a later version of the program has migrated. */
export function tooNew({ name, schema, what }: Target, version: number, known: number): LogError {
  const message = `Cannot use ${what} in Postgres at ${name}: its schema ${schema} is version ${version}, and this program supports up to ${known}. Use a later version of the program`;
  return new LogError('too_new', message, { host: name, schema, version });
}
