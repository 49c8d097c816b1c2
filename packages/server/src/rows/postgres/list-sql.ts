import type { CompleteQuery } from '../check-row.ts';

export interface ListQuestion {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** The question for a list, and its values in the order in which it names them. */
export function listSql(schema: string, table: string, query: CompleteQuery): ListQuestion {
  const { where, orderBy, direction, after, limit, offset } = query;
  const values: unknown[] = [];
  const value = (one: unknown) => `$${values.push(one)}`;
  const at = orderBy === 'createdAt' ? 'created_at' : 'updated_at';
  const order = direction === 'desc' ? 'DESC' : 'ASC';
  const [first, ...others] = where;
  // Led by a key where there is one: its index has the rows in order already.
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
  const sql = `SELECT r.* FROM ${schema}.${from} p
    JOIN ${schema}.rows r ON r.tbl = p.tbl AND r.id = p.id
    WHERE ${conditions.join(' AND ')}
    ORDER BY p.${at} ${order}, p.id ${order} LIMIT ${value(limit)} OFFSET ${value(offset)}`;
  return { sql, values };
}
