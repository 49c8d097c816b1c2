import { type Client, createClient } from '@millrace/client';
import { type Batch, encodeRecord, type LogRecord } from '@millrace/core';
import { type Driver, type Log, systemClock } from '@millrace/log';
import { storeLog } from '@millrace/log/store';
import { createServer, RowsError } from '@millrace/server';
import { type HttpService, Network } from './network.ts';
import type { Plant } from './plants.ts';
import { agentName, simulatedAgent, type ToolRun } from './simulated-agent.ts';
import { ConnectionLost, type DatabaseConnection, DatabaseServer } from './stores/database.ts';
import { Disk } from './stores/disk.ts';
import { SharedFile } from './stores/file-store.ts';
import { postgresModelLog } from './stores/model-postgres.ts';
import { ModelRows, SharedRows } from './stores/model-rows.ts';
import { ModelStore } from './stores/model-store.ts';
import { RowWatch } from './stores/row-watch.ts';
import { Machine, type World } from './world.ts';

/** The kind of store: a model of SQLite, a model of Postgres, or a real SQLite file. */
export type StoreKind = 'sqlite' | 'postgres' | 'file';

/** A record that a driver has received. It must not be lost. */
export interface ToldRecord {
  readonly session: string;
  readonly offset: number;
  /** The encoded record. */
  readonly text: string;
}

interface RestoreOptions {
  /**
   * The state to restore. `copy` is a copy of the whole store. `wal` is the current store without
   * its last commits.
   */
  readonly what: 'copy' | 'wal';
  readonly withRows: boolean;
}

interface ClusterOptions {
  readonly world: World;
  readonly store: StoreKind;
  readonly plant: Plant | undefined;
}

const token = 'a-token-of-the-simulation-with-enough-characters';
const serverCount = 2;
const clientCount = 2;

/** Servers that share a store, and clients that reach them through a load balancer. */
export class Cluster {
  readonly world: World;
  readonly network: Network;
  readonly disk: Disk;
  readonly rows = new SharedRows();
  readonly servers: readonly Machine[];
  readonly clients: readonly Machine[];
  /** The machine that injects the faults. It never fails. */
  readonly chaos = new Machine('faults');
  readonly toolRuns: ToolRun[] = [];
  readonly told: ToldRecord[] = [];
  /**
   * The index of the first commit that contains all tasks. The simulation does not restore an
   * earlier state.
   */
  firstCommit: number | undefined;
  /** The database server. Undefined if the store is a file. */
  readonly database: DatabaseServer | undefined;
  #file: SharedFile | undefined;
  readonly #plant: Plant | undefined;
  /** Servers that are about to start. */
  readonly #booting = new Set<Machine>();
  readonly #rowConnections = new Map<Machine, DatabaseConnection>();
  readonly #services = new Map<Machine, HttpService>();

  constructor({ world, plant, store }: ClusterOptions) {
    this.world = world;
    this.#plant = plant;
    this.network = new Network(world);
    this.disk = new Disk(world, {
      keepsIncarnation: plant === 'B',
      rows: () => this.rows.state,
    });
    const { disk, rows, network, chaos: machine } = this;
    if (store === 'file') this.#file = new SharedFile(world, disk);
    if (store === 'postgres') this.database = new DatabaseServer(world, network, disk);
    const watch = new RowWatch({ world, disk, rows, machine });
    rows.onWrite = (table, row) => watch.onWrite(table, row);
    this.servers = Array.from({ length: serverCount }, (_, n) => new Machine(`server-${n + 1}`));
    this.clients = Array.from({ length: clientCount }, (_, n) => new Machine(`client-${n + 1}`));
    for (const machine of this.servers) this.start(machine);
  }

  /** Starts a server for the first time or after a crash. */
  start(machine: Machine): void {
    machine.isUp = true;
    this.world.schedule(machine, 0, 'starts', () => this.#startServer(machine));
  }

  /** Crashes a running server, and starts it again later. */
  restart(machine: Machine, afterMs: number): void {
    if (!machine.isUp) return;
    this.world.crash(machine);
    this.bootLater(machine, afterMs);
  }

  /** Starts a crashed server after a delay. */
  bootLater(machine: Machine, afterMs: number): void {
    this.#services.delete(machine);
    if (this.#booting.has(machine)) return;
    this.#booting.add(machine);
    this.world.schedule(machine, afterMs, 'boots', () => {
      this.#booting.delete(machine);
      this.start(machine);
    });
  }

  /**
   * Restores an earlier state of the store. It restarts the database server. If the cluster has no
   * database server, it restarts all servers. With `withRows`, it also restores the rows. Without
   * `withRows`, the rows do not change.
   */
  restore(commits: number, afterMs: number, { what, withRows }: RestoreOptions): void {
    if (this.firstCommit === undefined || commits < this.firstCommit) return;
    const before = this.disk.at(commits);
    if (this.database !== undefined) this.database.restart(afterMs);
    else for (const machine of this.servers) this.restart(machine, afterMs);
    const state = this.#file === undefined ? before.state : this.#file.restore(commits, what);
    if (state === undefined) return;
    this.disk.rewind(state);
    if (withRows) this.rows.state = before.rows;
  }

  /** Compares a real file with the writes of the simulation, and then removes the file. */
  close(): void {
    if (this.#file === undefined) return;
    this.#file.compare();
    this.#file.remove();
    this.#file = undefined;
  }

  /** Creates a client on a machine. Each of its requests goes to a random server. */
  connect(machine: Machine): Client {
    const { random } = this.world;
    const pick = () => this.#services.get(random.oneOf(this.servers) as Machine);
    const fetch = this.network.fetchFrom(machine, pick);
    return createClient({ url: 'http://localhost/', token, fetch });
  }

  #startServer(machine: Machine): void {
    const { world } = this;
    const log = withPauses(this.#openLog(machine), world, machine, (session, batch) => {
      for (const record of batch) this.#noteTold(session, record);
    });
    const rows = new ModelRows({
      ...{ world, machine, shared: this.rows, disk: this.disk },
      ask: (work) => this.#askStore(machine, work),
      ignoresEpochs: this.#plant === 'A',
    });
    const agent = simulatedAgent({
      ...{ world, machine, log },
      onToolRun: (run) => {
        world.note(`${machine.name} runs ${run.tool} for ${run.message}`);
        this.toolRuns.push(run);
      },
    });
    const server = createServer({
      ...{ tokens: [token], log, rows, secret: 'the same for all servers' },
      agents: [{ type: 'loop', name: agentName, agent }],
      onDiagnostic: (problem) => world.note(`${machine.name} reports: ${problem}`),
    });
    this.#services.set(machine, { machine, fetch: server.fetch });
    // On its first request, the server searches for orphaned runs.
    server.fetch(new Request('http://localhost/healthz')).catch(() => {});
  }

  #openLog(machine: Machine): Log {
    const { database } = this;
    const measuresClockOnce = this.#plant === 'C';
    if (database !== undefined) return postgresModelLog({ database, machine, measuresClockOnce });
    const store = this.#file?.open(machine) ?? new ModelStore(this.world, this.disk, machine);
    // With a `clock`, the log uses the time of day for leases. This is planted fault C.
    return storeLog(store, this.#plant === 'C' ? { clock: systemClock } : {});
  }

  /** Sends a request to the row store. The request and the answer each take a random time. */
  async #askStore<T>(machine: Machine, work: () => T): Promise<T> {
    const { world, database } = this;
    if (database !== undefined) return this.#askDatabase(database, machine, work);
    await world.sleep(machine, world.random.next() * 3, 'asks the rows');
    try {
      return work();
    } finally {
      await world.sleep(machine, world.random.next() * 3, 'gets rows');
    }
  }

  /**
   * Sends a row request to the database. If the connection is lost, this becomes a storage error.
   */
  async #askDatabase<T>(database: DatabaseServer, machine: Machine, work: () => T): Promise<T> {
    const known = this.#rowConnections.get(machine);
    const isOpen = known?.isClosed === false;
    const connection = isOpen ? known : database.connect(machine);
    this.#rowConnections.set(machine, connection);
    try {
      return await connection.ask<T>('rows', (answer) => answer(work));
    } catch (error) {
      throw error instanceof ConnectionLost ? unreachable(error) : error;
    }
  }

  #noteTold(session: string, record: LogRecord): void {
    const text = encodeRecord(record);
    const { offset } = record;
    this.world.note(`told ${session} ${text}`);
    this.told.push({ session, offset, text });
  }
}

function unreachable(cause: Error): RowsError {
  return new RowsError('storage', 'Cannot reach the database', {}, { cause });
}

/**
 * Returns a log whose answers arrive after a random time. So a fault can happen between a commit
 * and the code that follows it. The answers stay in order.
 */
function withPauses(
  log: Log,
  world: World,
  machine: Machine,
  onTold: (session: string, records: readonly LogRecord[]) => void,
): Log {
  let lastAt = 0;
  const later = <T>(answer: Promise<T>): Promise<T> => {
    const pause = () =>
      new Promise<void>((resolve) => {
        const delayMs = world.random.oneIn(8) ? world.random.next() * 20 : 0.01;
        lastAt = Math.max(world.now + delayMs, lastAt + 0.001);
        world.scheduleAt(machine, lastAt, 'continues', resolve);
      });
    return answer.then(
      (value) => pause().then(() => value),
      (error: unknown) => pause().then(() => Promise.reject(error)),
    );
  };
  const pausing = <Target extends Log | Driver>(target: Target, onAnswer: OnAnswer): Target =>
    new Proxy(target, {
      get: (of, name) => {
        const member: unknown = Reflect.get(of, name, of);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          const answer: unknown = Reflect.apply(member, of, args);
          if (!(answer instanceof Promise)) return answer;
          return later(answer).then((value) => onAnswer(name, value));
        };
      },
    });
  const driven = (driver: Driver) =>
    pausing(driver, (name, answer) => {
      if (name === 'append') onTold(driver.session, (answer as Batch).records);
      return answer;
    });
  return pausing(log, (name, answer) => (name === 'open' ? driven(answer as Driver) : answer));
}

/** Called with the result of a method. Returns the value for the caller. */
type OnAnswer = (method: string | symbol, answer: unknown) => unknown;
