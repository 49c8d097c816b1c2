import { type Clock, systemClock } from '@millrace/log';
import {
  type ClaimOptions,
  fencedRow,
  nameConflict,
  type PutOptions,
  type Row,
  type RowQuery,
  type Rows,
  rowsClosed,
  type Table,
  versionConflict,
} from '../contract/rows.ts';
import {
  type CompleteQuery,
  checkEpoch,
  checkRow,
  completeQuery,
  isClaimed,
  nextUpdatedAt,
  takeLength,
} from './row-query.ts';

/**
 * Creates a row store in memory. Its content is lost when the process ends.
 *
 * @example
 * ```ts
 * const server = createServer({ rows: memoryRows() });
 * ```
 */
export function memoryRows(options: { readonly clock?: Pick<Clock, 'now'> } = {}): Rows {
  return new MemoryRows(options.clock ?? systemClock);
}

class MemoryRows implements Rows {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #tables = new Map<Table, MemoryTable>();
  /** Counts the writes to each table. */
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
    checkEpoch(table, options.epoch);
    const rows = this.#table(table);
    const before = rows.get(row.id);
    const version = before?.version ?? 0;
    const { ifVersion = version } = options;
    if (ifVersion !== version) throw versionConflict(table, row.id, ifVersion, version);
    const epoch = before?.epoch ?? 0;
    const { epoch: own = epoch } = options;
    if (own < epoch) throw fencedRow(table, row.id, own, epoch);
    const { name } = row.keys;
    if (name !== undefined && (rows.idByName(name) ?? row.id) !== row.id)
      throw nameConflict(table, name, row.id);
    const now = this.#clock.now();
    const stored = copy({
      id: row.id,
      version: version + 1,
      createdAt: before?.createdAt ?? now,
      updatedAt: nextUpdatedAt(before, now, options),
      keys: row.keys,
      data: row.data,
      epoch: own,
    });
    rows.set(stored);
    this.#countWrite(table);
    return copy(stored);
  }

  async delete(table: Table, id: string): Promise<boolean> {
    this.#countWrite(table);
    return this.#table(table).delete(id);
  }

  async claim(
    table: Table,
    id: string,
    epoch: number,
    { replacing }: ClaimOptions = {},
  ): Promise<Row | undefined> {
    checkEpoch(table, epoch);
    const rows = this.#table(table);
    const before = rows.get(id);
    if (before === undefined || !isClaimed(before.epoch, epoch, replacing)) return copy(before);
    rows.set({ ...before, epoch });
    return copy(rows.get(id));
  }

  async stamp(table: Table): Promise<string> {
    this.#table(table);
    return String(this.#writes.get(table) ?? 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#tables.clear();
  }

  #countWrite(table: Table): void {
    this.#writes.set(table, (this.#writes.get(table) ?? 0) + 1);
  }

  #table(name: Table): MemoryTable {
    if (this.#isClosed) throw rowsClosed();
    const table = this.#tables.get(name) ?? new MemoryTable();
    this.#tables.set(name, table);
    return table;
  }
}

/** Returns a copy of a row. Without the copy, callers could change stored data. */
function copy<R extends Row | undefined>(row: R): R {
  return structuredClone(row);
}

// Caches the length of each document. A stored row never changes.
const lengths = new WeakMap<Row, number>();

function dataLength(row: Row): number {
  const length = lengths.get(row) ?? JSON.stringify(row.data).length;
  lengths.set(row, length);
  return length;
}

/** The rows of one table, with indexes by name and by time. */
class MemoryTable {
  readonly #rows = new Map<string, Row>();
  /** Maps each name to the id of its row. A name is unique in its table. */
  readonly #names = new Map<string, string>();
  readonly #sorted = {
    createdAt: new SortedRows('createdAt'),
    updatedAt: new SortedRows('updatedAt'),
  };

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  idByName(name: string): string | undefined {
    return this.#names.get(name);
  }

  set(row: Row): void {
    this.delete(row.id);
    this.#rows.set(row.id, row);
    const { name } = row.keys;
    if (name !== undefined) this.#names.set(name, row.id);
    for (const sorted of Object.values(this.#sorted)) sorted.add(row);
  }

  delete(id: string): boolean {
    const row = this.#rows.get(id);
    if (row === undefined) return false;
    const { name } = row.keys;
    if (name !== undefined) this.#names.delete(name);
    for (const sorted of Object.values(this.#sorted)) sorted.remove(row);
    return this.#rows.delete(id);
  }

  list(query: CompleteQuery): readonly Row[] {
    const { where, limit, offset, maxLength } = query;
    const found = this.#candidates(query)
      .filter(({ keys }) => where.every(([key, value]) => keys[key] === value))
      .drop(offset)
      .take(limit);
    return maxLength === Number.POSITIVE_INFINITY
      ? found.toArray()
      : takeLength(found, maxLength, dataLength);
  }

  /** Returns rows in the order of the query. If the query contains a name, the result has at most one row. */
  #candidates({ where, orderBy, direction, after }: CompleteQuery): IteratorObject<Row> {
    const name = where.find(([key]) => key === 'name')?.[1];
    if (name !== undefined && after === undefined) {
      const row = this.#rows.get(this.#names.get(name) ?? '');
      return (row === undefined ? [] : [row]).values();
    }
    const sorted = this.#sorted[orderBy];
    return direction === 'asc' ? sorted.ascending(after) : sorted.descending(after);
  }
}

interface Position {
  readonly at: number;
  readonly id: string;
}

/** A list of rows that is sorted by one of their times. */
class SortedRows {
  readonly #orderBy: 'createdAt' | 'updatedAt';
  readonly #rows: Row[] = [];

  constructor(orderBy: 'createdAt' | 'updatedAt') {
    this.#orderBy = orderBy;
  }

  add(row: Row): void {
    this.#rows.splice(this.#countBefore(this.#positionOf(row), false), 0, row);
  }

  remove(row: Row): void {
    this.#rows.splice(this.#countBefore(this.#positionOf(row), false), 1);
  }

  *ascending(after: Position | undefined): Generator<Row> {
    const start = after === undefined ? 0 : this.#countBefore(after, true);
    for (let at = start; at < this.#rows.length; at++) yield this.#rows[at] as Row;
  }

  *descending(after: Position | undefined): Generator<Row> {
    const end = after === undefined ? this.#rows.length : this.#countBefore(after, false);
    for (let at = end - 1; at >= 0; at--) yield this.#rows[at] as Row;
  }

  #positionOf(row: Row): Position {
    return { at: row[this.#orderBy], id: row.id };
  }

  /**
   * Returns the number of rows before a position. With `isIncluded`, it also counts a row at the position
   * itself.
   */
  #countBefore(position: Position, isIncluded: boolean): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compare(this.#positionOf(this.#rows[middle] as Row), position);
      if (order < 0 || (isIncluded && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function compare(a: Position, b: Position): number {
  if (a.at !== b.at) return a.at - b.at;
  // Compares ids by their bytes, like the databases.
  return a.id === b.id ? 0 : Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}
