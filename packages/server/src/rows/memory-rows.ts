import { type Clock, systemClock } from '@millrace/log';
import {
  nameConflict,
  type PutOptions,
  type Row,
  type RowQuery,
  type Rows,
  rowsClosed,
  type Table,
  versionConflict,
} from '../contract/rows.ts';
import { checkRow, completeQuery } from './check-row.ts';
import { MemoryTable } from './memory-table.ts';

/** Rows that are gone with the process. */
export function memoryRows(options: { readonly clock?: Pick<Clock, 'now'> } = {}): Rows {
  return new MemoryRows(options.clock ?? systemClock);
}

class MemoryRows implements Rows {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #tables = new Map<Table, MemoryTable>();
  /** How often each was written. */
  readonly #writes = new Map<Table, number>();
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
    return complete === undefined ? [] : rows.list(complete).map(copy);
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
    if (name !== undefined && (rows.idNamed(name) ?? row.id) !== row.id)
      throw nameConflict(table, name, row.id);
    const now = this.#clock.now();
    const kept = copy({
      id: row.id,
      version: version + 1,
      createdAt: before?.createdAt ?? now,
      updatedAt: Math.max(now, before?.updatedAt ?? now),
      keys: row.keys,
      data: row.data,
    });
    rows.set(kept);
    this.#count(table);
    return copy(kept);
  }

  async delete(table: Table, id: string): Promise<boolean> {
    this.#count(table);
    return this.#table(table).delete(id);
  }

  async stamp(table: Table): Promise<string> {
    this.#table(table);
    return String(this.#writes.get(table) ?? 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#tables.clear();
  }

  #count(table: Table): void {
    this.#writes.set(table, (this.#writes.get(table) ?? 0) + 1);
  }

  #table(name: Table): MemoryTable {
    if (this.#isClosed) throw rowsClosed();
    const table = this.#tables.get(name) ?? new MemoryTable();
    this.#tables.set(name, table);
    return table;
  }
}

/** What one caller does to his must not reach another's. */
function copy<R extends Row | undefined>(row: R): R {
  return structuredClone(row);
}
