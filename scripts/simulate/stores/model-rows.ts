import {
  type ClaimOptions,
  type PutOptions,
  type Row,
  type RowQuery,
  type Rows,
  RowsError,
  type Table,
} from '@millrace/server';
import type { Machine, World } from '../world.ts';
import { CrashedError, type Disk } from './disk.ts';
import type { RowsState } from './store-state.ts';

/** The rows. All servers share them. */
export class SharedRows {
  state: RowsState = new Map();
  writes = 0;
  /** Called after each write. */
  onWrite: (table: Table, row: Row) => void = () => {};
}

interface RowsOptions {
  readonly world: World;
  readonly shared: SharedRows;
  readonly disk: Disk;
  readonly machine: Machine;
  /**
   * Sends a request to the store and returns its answer. The request and the answer take time, and
   * both can fail.
   */
  readonly ask: <T>(work: () => T) => Promise<T>;
  /** If true, the rows ignore the epochs of runs. This is planted fault A. */
  readonly ignoresEpochs: boolean;
}

/**
 * A model of the row stores. Each call is a request that changes the rows atomically when it
 * arrives.
 */
export class ModelRows implements Rows {
  readonly #options: RowsOptions;
  readonly #start: number;

  constructor(options: RowsOptions) {
    this.#options = options;
    this.#start = options.machine.start;
  }

  get(table: Table, id: string): Promise<Row | undefined> {
    return this.#ask(() => this.#table(table).get(id));
  }

  list(table: Table, query: RowQuery = {}): Promise<readonly Row[]> {
    const { where = {}, orderBy = 'createdAt', direction = 'asc' } = query;
    const { limit = 50, offset = 0, after } = query;
    const sign = direction === 'asc' ? 1 : -1;
    const compare = (a: Position, b: Position) =>
      sign * (a.at === b.at ? (a.id < b.id ? -1 : Number(a.id > b.id)) : a.at - b.at);
    return this.#ask(() =>
      [...this.#table(table).values()]
        .filter(({ keys }) => Object.entries(where).every(([key, value]) => keys[key] === value))
        .map((row) => ({ row, at: row[orderBy], id: row.id }))
        .filter((position) => after === undefined || compare(position, after) > 0)
        .sort(compare)
        .slice(offset, offset + limit)
        .map(({ row }) => row),
    );
  }

  put(
    table: Table,
    { id, keys, data }: Pick<Row, 'id' | 'keys' | 'data'>,
    { ifVersion, epoch: given }: PutOptions = {},
  ): Promise<Row> {
    const now = this.#options.world.timeOf(this.#options.machine);
    return this.#ask(() => {
      this.#options.disk.assertWritable();
      const rows = this.#table(table);
      const before = rows.get(id);
      const version = before?.version ?? 0;
      if ((ifVersion ?? version) !== version)
        throw new RowsError('conflict', `${id} of ${table} has version ${version}`);
      const stored = before?.epoch ?? 0;
      const epoch = this.#options.ignoresEpochs ? stored : (given ?? stored);
      if (epoch < stored) throw new RowsError('fenced', `${id} of ${table} has epoch ${stored}`);
      const { name } = keys;
      for (const other of rows.values())
        if (name !== undefined && other.keys['name'] === name && other.id !== id)
          throw new RowsError('conflict', `another row of ${table} has the name ${name}`);
      const { createdAt = now, updatedAt = now } = before ?? {};
      const times = { createdAt, updatedAt: Math.max(now, updatedAt) };
      const row = structuredClone({ id, version: version + 1, ...times, keys, data, epoch });
      return this.#store(table, row);
    });
  }

  claim(
    table: Table,
    id: string,
    epoch: number,
    { replacing }: ClaimOptions = {},
  ): Promise<Row | undefined> {
    return this.#ask(() => {
      const before = this.#table(table).get(id);
      if (before === undefined || this.#options.ignoresEpochs) return before;
      const isClaimed = epoch > before.epoch || replacing === before.epoch;
      return isClaimed ? this.#store(table, { ...before, epoch }) : before;
    });
  }

  delete(table: Table, id: string): Promise<boolean> {
    return this.#ask(() => {
      const rows = new Map(this.#table(table));
      const isDeleted = rows.delete(id);
      this.#replace(table, rows);
      return isDeleted;
    });
  }

  async close(): Promise<void> {}

  #store(table: Table, row: Row): Row {
    this.#replace(table, new Map(this.#table(table)).set(row.id, row));
    this.#options.shared.onWrite(table, row);
    return row;
  }

  #replace(table: Table, rows: ReadonlyMap<string, Row>): void {
    const { shared, world, machine } = this.#options;
    shared.state = new Map(shared.state).set(table, rows);
    world.note(`${machine.name} writes ${table} ${++shared.writes}`);
  }

  #table(table: Table): ReadonlyMap<string, Row> {
    return this.#options.shared.state.get(table) ?? new Map();
  }

  #ask<T>(work: () => T): Promise<T> {
    const { machine } = this.#options;
    if (machine.start !== this.#start)
      return Promise.reject(new CrashedError('The program has crashed'));
    return this.#options.ask(work);
  }
}

interface Position {
  readonly at: number;
  readonly id: string;
}
