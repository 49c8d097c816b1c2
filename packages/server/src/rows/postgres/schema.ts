import type { CompleteQuery } from '../row-query.ts';

/**
 * SQL scripts. Each script upgrades the tables by one version. Ids are sorted by code points, as in all row
 * stores.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE rows (
     tbl text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     version bigint NOT NULL,
     created_at double precision NOT NULL,
     updated_at double precision NOT NULL,
     -- JSON as text: jsonb does not take every character that a JSON text may have.
     keys text NOT NULL,
     data text NOT NULL,
     PRIMARY KEY (tbl, id)
   );
   CREATE INDEX rows_created ON rows (tbl, created_at, id);
   CREATE INDEX rows_updated ON rows (tbl, updated_at, id);
   -- The times are here again, so that a list by a key is read in order and not sorted.
   CREATE TABLE row_keys (
     tbl text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     key text COLLATE "C" NOT NULL,
     value text COLLATE "C" NOT NULL,
     created_at double precision NOT NULL,
     updated_at double precision NOT NULL,
     PRIMARY KEY (tbl, id, key)
   );
   CREATE INDEX keys_created ON row_keys (tbl, key, value, created_at, id);
   CREATE INDEX keys_updated ON row_keys (tbl, key, value, updated_at, id);
   CREATE UNIQUE INDEX names ON row_keys (tbl, value) WHERE key = 'name';`,
  // Stores the epoch of the run that wrote a row. The column has no default, so older versions, which do not
  // write an epoch, can no longer insert rows.
  `ALTER TABLE rows ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
   ALTER TABLE rows ALTER COLUMN epoch DROP DEFAULT;`,
  // Lists select tasks by their place: recent, kept or archived. The tasks of older versions become recent.
  `UPDATE rows SET keys = (keys::jsonb || '{"place": "recent"}')::text
     WHERE tbl = 'tasks' AND keys::jsonb ->> 'is_shown' = 'yes';
   INSERT INTO row_keys SELECT tbl, id, 'place', 'recent', created_at, updated_at FROM row_keys
     WHERE tbl = 'tasks' AND key = 'is_shown' AND value = 'yes';`,
];

interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/**
 * Returns the SQL of a claim and its parameters. The statement returns the row only if it has replaced the
 * epoch.
 */
export function claimSql(
  schema: string,
  table: string,
  id: string,
  epoch: number,
  replacing = -1,
): Statement {
  const sql = `UPDATE ${schema}.rows SET epoch = $3
    WHERE tbl = $1 AND id = $2 AND (epoch < $3 OR epoch = $4)
      AND EXISTS (SELECT 1 FROM ${schema}.version WHERE version = $5) RETURNING *`;
  return { sql, values: [table, id, epoch, replacing, migrations.length] };
}

/** Returns the SQL of a list query and its parameters. */
export function listSql(schema: string, table: string, query: CompleteQuery): Statement {
  const { where, orderBy, direction, after, limit, offset, maxLength } = query;
  const values: unknown[] = [];
  const value = (one: unknown) => `$${values.push(one)}`;
  const at = orderBy === 'createdAt' ? 'created_at' : 'updated_at';
  const order = direction === 'desc' ? 'DESC' : 'ASC';
  const [first, ...others] = where;
  // A query with a key reads the table `row_keys` first, because the index of that table is already sorted.
  const from = first === undefined ? 'rows' : 'row_keys';
  const conditions = [`p.tbl = ${value(table)}`];
  if (first !== undefined)
    conditions.push(`p.key = ${value(first[0])} AND p.value = ${value(first[1])}`);
  for (const [key, wanted] of others)
    conditions.push(
      `EXISTS (SELECT 1 FROM ${schema}.row_keys o WHERE o.tbl = p.tbl AND o.id = p.id AND o.key = ${value(key)} AND o.value = ${value(wanted)})`,
    );
  if (after !== undefined) {
    const since = direction === 'desc' ? '<' : '>';
    const [time, id] = [value(after.at), value(after.id)];
    conditions.push(`(p.${at}, p.id) ${since} (${time}::double precision, ${id})`);
  }
  const joined = `JOIN ${schema}.rows r ON r.tbl = p.tbl AND r.id = p.id`;
  const sorted = `ORDER BY p.${at} ${order}, p.id ${order}`;
  const selected = `WHERE ${conditions.join(' AND ')} ${sorted} LIMIT ${value(limit)} OFFSET ${value(offset)}`;
  if (maxLength === Number.POSITIVE_INFINITY)
    return { sql: `SELECT r.* FROM ${schema}.${from} p ${joined} ${selected}`, values };
  // Postgres knows the length of a document in bytes without reading it, so a long document stays in the
  // database.
  const sql = `SELECT * FROM (
      SELECT r.*, row_number() OVER place AS place, sum(octet_length(r.data)) OVER place AS length
      FROM (SELECT p.tbl, p.id, p.${at} FROM ${schema}.${from} p ${selected}) p ${joined}
      WINDOW place AS (${sorted})
    ) page WHERE place = 1 OR length <= ${value(maxLength)} ORDER BY place`;
  return { sql, values };
}
