import { type Clock, systemClock } from '@millrace/log';
import { type CompleteQuery, checkRow, completeQuery } from './check-row.ts';
import type { PutOptions, Row, RowQuery, Rows, Table } from './rows.ts';
import { closedRows, nameConflict, versionConflict } from './rows-error.ts';

/** Rows that are gone with the process. */
export function memoryRows(options: { readonly clock?: Pick<Clock, 'now'> } = {}): Rows {
  return new MemoryRows(options.clock ?? systemClock);
}

class MemoryRows implements Rows {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #tables = new Map<Table, Map<string, Row>>();
  #isClosed = false;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  async get(table: Table, id: string): Promise<Row | undefined> {
    return copy(this.#table(table).get(id));
  }

  async list(table: Table, query: RowQuery = {}): Promise<readonly Row[]> {
    const complete = completeQuery(query);
    const rows = this.#table(table);
    if (complete === undefined) return [];
    const { limit, offset } = complete;
    return select([...rows.values()], complete)
      .slice(offset, offset + limit)
      .map(copy);
  }

  async put(
    table: Table,
    row: Pick<Row, 'id' | 'keys' | 'data'>,
    options: PutOptions = {},
  ): Promise<Row> {
    checkRow(table, row);
    const rows = this.#table(table);
    const before = rows.get(row.id);
    const version = before?.version ?? 0;
    const { ifVersion = version } = options;
    if (ifVersion !== version) throw versionConflict(table, row.id, ifVersion, version);
    const { name } = row.keys;
    if (name !== undefined && isTaken(rows, name, row.id)) throw nameConflict(table, name, row.id);
    const now = this.#clock.now();
    const kept = copy({
      id: row.id,
      version: version + 1,
      createdAt: before?.createdAt ?? now,
      updatedAt: Math.max(now, before?.updatedAt ?? now),
      keys: row.keys,
      data: row.data,
    });
    rows.set(row.id, kept);
    return copy(kept);
  }

  async delete(table: Table, id: string): Promise<boolean> {
    return this.#table(table).delete(id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#tables.clear();
  }

  #table(name: Table): Map<string, Row> {
    if (this.#isClosed) throw closedRows();
    const table = this.#tables.get(name) ?? new Map<string, Row>();
    this.#tables.set(name, table);
    return table;
  }
}

/** What one caller does to his must not reach another's. */
function copy<R extends Row | undefined>(row: R): R {
  return structuredClone(row);
}

function isTaken(rows: ReadonlyMap<string, Row>, name: string, id: string): boolean {
  return rows.values().some((row) => row.keys['name'] === name && row.id !== id);
}

function select(rows: readonly Row[], query: CompleteQuery): readonly Row[] {
  const { where, orderBy, direction, after } = query;
  const sign = direction === 'asc' ? 1 : -1;
  const order = (a: Position, b: Position) => sign * (a.at - b.at || compareIds(a.id, b.id));
  const place = (row: Row): Position => ({ at: row[orderBy], id: row.id });
  return rows
    .filter((row) => where.every(([key, value]) => row.keys[key] === value))
    .filter((row) => after === undefined || order(place(row), after) > 0)
    .sort((a, b) => order(place(a), place(b)));
}

interface Position {
  readonly at: number;
  readonly id: string;
}

/** By their bytes, as a database does. */
function compareIds(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
