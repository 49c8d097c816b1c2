import type { SessionId } from '@millrace/core';
import type { Network } from '../network.ts';
import { Machine, type World } from '../world.ts';
import type { Disk } from './disk.ts';

/**
 * Thrown if the connection to the database is lost. If a request has no answer, its effect is
 * unknown.
 */
export class ConnectionLost extends Error {}

/** The time for which a client waits for an answer. */
const answerTimeoutMs = 10_000;
/** Maximum time that a transaction may wait for its client. The real store uses the same value. */
const idleTransactionMs = 10_000;

/**
 * A model of a database server on a separate machine. A session lock ends with its connection. The
 * content of the database is on the disk, so it survives crashes.
 */
export class DatabaseServer {
  readonly machine: Machine = new Machine('database');
  readonly world: World;
  readonly network: Network;
  readonly disk: Disk;
  /** The number of the last commit, by writer. */
  readonly stamps: Map<string, number> = new Map();
  readonly #connections = new Set<DatabaseConnection>();
  readonly #locks = new Map<SessionId, DatabaseConnection>();
  /** Connections that wait for locks, in order. Each entry tries to take the locks. */
  readonly #waiting = new Set<() => void>();

  constructor(world: World, network: Network, disk: Disk) {
    this.world = world;
    this.network = network;
    this.disk = disk;
  }

  connect(client: Machine): DatabaseConnection {
    const connection = new DatabaseConnection(this, client);
    this.#connections.add(connection);
    return connection;
  }

  /** Restarts the server. All connections and locks are lost. */
  restart(afterMs: number): void {
    if (!this.machine.isUp) return;
    this.world.crash(this.machine);
    for (const connection of [...this.#connections]) connection.close();
    this.#locks.clear();
    this.#waiting.clear();
    this.world.schedule(this.machine, afterMs, 'boots', () => {
      this.machine.isUp = true;
    });
  }

  /** Closes the connections of a client with an error. Without a client, closes all connections. */
  cut(client?: Machine): void {
    for (const connection of [...this.#connections])
      if (client === undefined || connection.client === client) connection.close();
  }

  /** Takes the locks of all sessions for a connection, and then calls `onLocked`. */
  lock(connection: DatabaseConnection, sessions: readonly SessionId[], onLocked: () => void): void {
    const attempt = () => {
      if (connection.isClosed) return void this.#waiting.delete(attempt);
      if (sessions.some((session) => (this.#locks.get(session) ?? connection) !== connection))
        return void this.#waiting.add(attempt);
      this.#waiting.delete(attempt);
      for (const session of sessions) this.#locks.set(session, connection);
      onLocked();
    };
    attempt();
  }

  /** Releases the locks of a connection. Then waiting connections try to take them. */
  release(connection: DatabaseConnection): void {
    for (const [session, holder] of [...this.#locks])
      if (holder === connection) this.#locks.delete(session);
    for (const attempt of [...this.#waiting]) attempt();
  }

  forget(connection: DatabaseConnection): void {
    this.#connections.delete(connection);
    this.release(connection);
  }

  holdsLocks(connection: DatabaseConnection): boolean {
    return [...this.#locks.values()].includes(connection);
  }
}

/** A connection of a program to the database. The database processes its requests in order. */
export class DatabaseConnection {
  readonly client: Machine;
  isClosed = false;
  readonly #database: DatabaseServer;
  readonly #start: number;
  readonly #pending = new Set<(error: Error) => void>();
  readonly #lastAt = { database: 0, client: 0 };
  #requests = 0;
  #stopIdleTimer: () => void = () => {};

  constructor(database: DatabaseServer, client: Machine) {
    this.#database = database;
    this.client = client;
    this.#start = client.start;
    // When a process crashes, its sockets are closed.
    client.onCrash.add(this.close);
  }

  /**
   * Runs a request on the database and returns its answer. `work` must call `answer` when it is
   * finished.
   */
  ask<T>(label: string, work: (answer: (value: () => T) => void) => void): Promise<T> {
    const { world, machine } = this.#database;
    return new Promise<T>((resolve, reject) => {
      if (this.isClosed || !machine.isUp || this.client.start !== this.#start)
        return reject(new ConnectionLost('The connection is closed'));
      const stopTimer = world.schedule(this.client, answerTimeoutMs, 'waited too long', () =>
        this.close(),
      );
      const settle = (run: () => void) => {
        stopTimer();
        this.#pending.delete(fail);
        run();
      };
      const fail = (error: Error) => settle(() => reject(error));
      this.#pending.add(fail);
      const number = ++this.#requests;
      this.#stopIdleTimer();
      this.#send('database', label, () => {
        work((value) => {
          const answered = attempt(value);
          this.#send('client', `gets the answer to ${label}`, () =>
            settle(() => ('error' in answered ? reject(answered.error) : resolve(answered.value))),
          );
          this.#endIdleTransaction(number);
        });
      });
    });
  }

  /**
   * Closes the connection. The database ends the transaction, and the client's open requests fail.
   */
  readonly close = (): void => {
    if (this.isClosed) return;
    this.isClosed = true;
    const { world, machine } = this.#database;
    this.client.onCrash.delete(this.close);
    if (machine.isUp)
      world.schedule(machine, 5, 'loses a connection', () => this.#database.forget(this));
    else this.#database.forget(this);
    const pending = [...this.#pending];
    this.#pending.clear();
    if (this.client.start !== this.#start) return;
    world.schedule(this.client, 2, 'loses the database', () => {
      for (const fail of pending) fail(new ConnectionLost('The connection was lost'));
    });
  };

  /**
   * Closes the connection of a client that holds locks but sends no requests. The client may be
   * paused.
   */
  #endIdleTransaction(number: number): void {
    const { world, machine } = this.#database;
    if (!this.#database.holdsLocks(this)) return;
    this.#stopIdleTimer = world.schedule(machine, idleTransactionMs, 'ends a transaction', () => {
      if (this.#requests === number && this.#database.holdsLocks(this)) this.close();
    });
  }

  #send(to: 'client' | 'database', label: string, run: () => void): void {
    const { world, network, machine } = this.#database;
    const [from, target] = to === 'client' ? [machine, this.client] : [this.client, machine];
    const at = Math.max(network.arrival(from, target), this.#lastAt[to] + 0.001);
    this.#lastAt[to] = at;
    world.scheduleAt(target, at, label, () => {
      if (!this.isClosed) run();
    });
  }
}

type Attempt<T> = { readonly value: T } | { readonly error: Error };

function attempt<T>(run: () => T): Attempt<T> {
  try {
    return { value: run() };
  } catch (error) {
    return { error: error as Error };
  }
}
