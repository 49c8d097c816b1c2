import type { CompleteQuery } from '../check-row.ts';

/** A question of one shape; its parameters come from `parametersOf`. */
export function listSql({ where, orderBy, direction, after }: CompleteQuery): string {
  const at = orderBy === 'createdAt' ? 'created_at' : 'updated_at';
  const isDown = direction === 'desc';
  const [first, ...others] = where;
  // Led by a key where there is one: its index has the rows in order already.
  const from = first === undefined ? 'rows p' : 'row_keys p';
  const lead = first === undefined ? '' : 'AND p.key = ? AND p.value = ?';
  const also = others.map(
    () =>
      'AND EXISTS (SELECT 1 FROM row_keys o WHERE o.tbl = p.tbl AND o.id = p.id AND o.key = ? AND o.value = ?)',
  );
  const since = after === undefined ? '' : `AND (p.${at}, p.id) ${isDown ? '<' : '>'} (?, ?)`;
  const order = isDown ? 'DESC' : 'ASC';
  return `SELECT r.* FROM ${from} JOIN rows r ON r.tbl = p.tbl AND r.id = p.id
    WHERE p.tbl = ? ${lead} ${also.join(' ')} ${since}
    ORDER BY p.${at} ${order}, p.id ${order} LIMIT ? OFFSET ?`;
}

export function parametersOf(
  table: string,
  { where, after, limit, offset }: CompleteQuery,
): readonly (string | number)[] {
  const since = after === undefined ? [] : [after.at, after.id];
  return [table, ...where.flat(), ...since, limit, offset];
}
