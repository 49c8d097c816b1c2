import type { ClientBase } from 'pg';
import { jumpRange, leastJump } from '../../storage/incarnation.ts';

/**
 * A query that returns an identifier for the history of a database server. A newly created cluster has a new
 * system identifier. A cluster that was recovered to an earlier moment, or whose standby took over, has a new
 * timeline. A hosted server may refuse these functions.
 */
const historyQuery = `SELECT system_identifier || '/' ||
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS history FROM pg_control_system()`;

/**
 * Gives the log a new incarnation if the history of its server has changed. This happens when a dump was
 * restored on another server, when the server was recovered to an earlier moment, or when a standby took
 * over. A dump that is restored on the same server cannot be detected. Call `renew_incarnation()` in this
 * case.
 */
export async function checkLineage(client: ClientBase, schema: string): Promise<void> {
  const history = await serverHistory(client);
  if (history === undefined) return;
  const table = `${schema}.log_state`;
  const { rows } = await client.query(`SELECT history FROM ${table}`);
  if (rows[0]?.history === history) return;
  await client.query(`SELECT ${schema}.note_history($1)`, [history]);
}

/** Returns the identifier of the server's history. Returns `undefined` if the server refuses the query. */
async function serverHistory(client: ClientBase): Promise<string | undefined> {
  try {
    return (await client.query<{ readonly history: string }>(historyQuery)).rows[0]?.history;
  } catch {
    return undefined;
  }
}

/** The smallest incarnation, and the number of possible incarnations. See `storage/incarnation.ts`. */
const [least, range] = [36 ** 7, 36 ** 8 - 36 ** 7];

/**
 * The migration to version 2 of the tables, which adds incarnations. A program of version 1 writes to the
 * table `writers` at each commit. A trigger with this table name makes these writes fail, if such a program
 * still runs.
 */
export const addIncarnations: string = `
  CREATE TABLE log_state (incarnation bigint NOT NULL, history text);
  INSERT INTO log_state VALUES (${least} + floor(random() * ${range})::bigint, NULL);
  CREATE FUNCTION renew_incarnation() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
      UPDATE log_state SET incarnation = ${least} + floor(random() * ${range})::bigint;
      -- The numbers that were used after the backup are unknown, and none may be used twice. A backup that
      -- is restored twice starts with the same numbers twice, so the amount is random.
      PERFORM setval('drivers', nextval('drivers') + ${leastJump} + floor(random() * ${jumpRange})::bigint);
      PERFORM setval('made', nextval('made') + ${leastJump} + floor(random() * ${jumpRange})::bigint);
      PERFORM pg_notify('millrace_' || current_schema(), '');
    END $$;
  CREATE FUNCTION note_history(now text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE was text;
    BEGIN
      -- The row lock lets only one of several processes do it.
      SELECT history INTO was FROM log_state FOR UPDATE;
      IF was IS NOT DISTINCT FROM now THEN RETURN; END IF;
      UPDATE log_state SET history = now;
      IF was IS NOT NULL THEN PERFORM renew_incarnation(); END IF;
    END $$;
  ALTER TABLE writers RENAME TO log_writers;
  CREATE TABLE writers (LIKE log_writers INCLUDING ALL);
  CREATE FUNCTION refuse_version_1() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'a later version of the program has migrated this log to version 2; use that version';
    END $$;
  CREATE TRIGGER refuse_version_1 BEFORE INSERT OR UPDATE ON writers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_version_1();`;
