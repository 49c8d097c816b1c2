import type { Row, Rows, Table } from '../contract/rows.ts';
import { isConflict, noSuch, rowRefusal } from './row-errors.ts';

type Content = Pick<Row, 'keys' | 'data'>;

/** So often somebody else may be quicker. */
const maxTries = 20;

/**
 * Changes a row by what it is now, again if somebody else was quicker. Undefined from `change` leaves
 * it as it is.
 */
export async function changeRow(
  rows: Rows,
  table: Table,
  id: string,
  change: (row: Row) => Content | undefined,
): Promise<{ readonly row: Row; readonly isChanged: boolean }> {
  for (let tries = 1; ; tries++) {
    const row = await rows.get(table, id);
    if (row === undefined) throw noSuch(nameOf[table], id);
    const changed = change(row);
    if (changed === undefined) return { row, isChanged: false };
    try {
      const kept = await rows.put(table, { id, ...changed }, { ifVersion: row.version });
      return { row: kept, isChanged: true };
    } catch (error) {
      if (!isConflict(error) || tries === maxTries) throw rowRefusal(error);
    }
  }
}

const nameOf: Readonly<Record<Table, string>> = {
  agents: 'agent',
  tasks: 'task',
  states: 'state',
  spans: 'span',
  trackers: 'tracker',
  tokens: 'token',
};
