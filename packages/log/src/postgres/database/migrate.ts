import type { ClientBase } from 'pg';
import { LogError } from '../../contract/log-error.ts';
import { lockKey } from './advisory-locks.ts';
import type { Target } from './target.ts';

/** Makes the tables, or brings older ones up to date. Refuses what a later version wrote. */
export async function migrate(
  client: ClientBase,
  target: Target,
  steps: readonly string[],
): Promise<void> {
  await assertUtf8(client, target);
  if ((await versionOf(client, target, steps.length)) === steps.length) return;
  await client.query('BEGIN');
  try {
    // Several may come at once: the others wait here and find it done.
    await client.query(`SELECT pg_advisory_xact_lock(${lockKey(target.schema, 'schema', '')})`);
    const found = await versionOf(client, target, steps.length);
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
  // Asked first: who may not create a schema may use one that is there.
  const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rows.length === 0) await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(`SET LOCAL search_path = ${schema}`);
  await client.query('CREATE TABLE IF NOT EXISTS version (version integer NOT NULL)');
  for (const step of steps) await client.query(step);
  await client.query('DELETE FROM version');
  await client.query('INSERT INTO version VALUES ($1)', [version]);
}

/** The version of the tables, 0 where there are none. */
async function versionOf(client: ClientBase, target: Target, known: number): Promise<number> {
  const { schema } = target;
  // Not by `to_regclass`, which may not have heard yet of what another made a moment ago.
  const tables = `SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'version'`;
  if ((await client.query(tables, [schema])).rows.length === 0) return 0;
  const { rows } = await client.query(`SELECT version FROM ${schema}.version`);
  const version = Number(rows[0]?.version ?? 0);
  if (version > known) throw tooNew(target, version, known);
  return version;
}

/** In another encoding not every text could be kept. */
async function assertUtf8(client: ClientBase, { name, what }: Target): Promise<void> {
  const { rows } = await client.query('SHOW server_encoding');
  const encoding = String(rows[0]?.server_encoding);
  if (encoding === 'UTF8') return;
  const message = `Cannot keep ${what} in Postgres at ${name}: its encoding is ${encoding}. Create a database with ENCODING 'UTF8'`;
  throw new LogError('storage', message, { host: name, encoding });
}

function tooNew({ name, schema, what }: Target, version: number, known: number): LogError {
  const message = `Cannot open ${what} in Postgres at ${name}: its schema ${schema} is version ${version}, and this program knows up to ${known}. Use a later one`;
  return new LogError('too_new', message, { host: name, schema, version });
}
