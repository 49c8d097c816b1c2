import type { SessionId } from '@millrace/core';
import { type Clock, type Log, LogError } from '@millrace/log';
import type { SessionRow, SessionRowFilter } from '@millrace/log/store';
import type { JobOutcome } from '../../../packages/log/src/engine/commits/commit-queue.ts';
import { LeaseJudge } from '../../../packages/log/src/engine/lease-clock.ts';
import { LogContext } from '../../../packages/log/src/engine/log-context.ts';
import { StoreLog } from '../../../packages/log/src/engine/store-log.ts';
import { FeedRegistry } from '../../../packages/log/src/follow/feeds.ts';
import { ServerClock } from '../../../packages/log/src/postgres/server-clock.ts';
import {
  FetchedRows,
  keepRecords,
  type RowRequest,
  requestedSessions,
} from '../../../packages/log/src/prefetch/fetched-rows.ts';
import {
  PrefetchCommitQueue,
  type PrefetchWriter,
  type WorkPass,
} from '../../../packages/log/src/prefetch/prefetch-commits.ts';
import type { TransactionDraft } from '../../../packages/log/src/prefetch/transaction-draft.ts';
import { decodeChunk } from '../../../packages/log/src/storage/chunk-codec.ts';
import type { LogReader, RecordPage } from '../../../packages/log/src/storage/record-store.ts';
import type { Machine } from '../world.ts';
import { ConnectionLost, type DatabaseConnection, type DatabaseServer } from './database.ts';
import { recordsOf, rowOf, rowsOf, StateDraft, type StoreState } from './store-state.ts';

/**
 * The time for which requests are retried after a lost connection. The real store uses the same
 * values for this and the next three constants.
 */
const retryMs = 15_000;
const retryPauseMs = 50;
const commitIntervalMs = 20;
const pollMs = 1000;

interface PostgresModelOptions {
  readonly database: DatabaseServer;
  readonly machine: Machine;
  /**
   * If true, the difference to the database clock is measured only once. After that, the time of
   * day is used. This is planted fault C.
   */
  readonly measuresClockOnce: boolean;
}

/**
 * Opens a log on a model of Postgres. The queue, the drafts, the leases and the followers are real
 * code.
 */
export function postgresModelLog(options: PostgresModelOptions): Log {
  const { database, machine } = options;
  const clock = options.measuresClockOnce ? new OnceMeasuredClock() : new ServerClock();
  const access = new Access(database, machine);
  const writer = new ModelWriter(access, clock);
  const commits = new PrefetchCommitQueue({ writer, clock, intervalMs: commitIntervalMs });
  const reader = new ModelReader(access, clock);
  const feeds = new FeedRegistry(reader);
  const leases = new LeaseJudge({ clock });
  return new StoreLog(new LogContext({ reader, commits, feeds, clock, leases }));
}

/** A copy of the database clock. Each answer of the database sets it. */
type DatabaseClock = Clock & Pick<ServerClock, 'set'>;

class OnceMeasuredClock extends ServerClock {
  #aheadMs: number | undefined;

  override now(): number {
    return Date.now() + (this.#aheadMs ?? 0);
  }

  override set(serverMs: number): void {
    this.#aheadMs ??= serverMs - Date.now();
  }
}

/** The connections from one program to the database. */
class Access {
  readonly database: DatabaseServer;
  readonly machine: Machine;
  #connection: DatabaseConnection | undefined;

  constructor(database: DatabaseServer, machine: Machine) {
    this.database = database;
    this.machine = machine;
  }

  connect(known: DatabaseConnection | undefined): DatabaseConnection {
    return known === undefined || known.isClosed ? this.database.connect(this.machine) : known;
  }

  /** Reads data from the database. */
  read<T>(label: string, read: (state: StoreState) => T): Promise<T> {
    return this.withRetries(() => {
      this.#connection = this.connect(this.#connection);
      const { disk } = this.database;
      return this.#connection.ask<T>(label, (answer) => answer(() => read(disk.state)));
    });
  }

  /** Repeats work after a lost connection, for a limited time. */
  async withRetries<T>(work: () => Promise<T>): Promise<T> {
    const { world } = this.database;
    for (const begunAt = world.now; ; ) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (world.now - begunAt > retryMs) throw unreachable(error);
      }
      await world.sleep(this.machine, retryPauseMs, 'retries the database');
    }
  }

  get time(): number {
    return this.database.world.timeOf(this.database.machine);
  }
}

function unreachable(cause: Error): LogError {
  return new LogError('storage', 'Cannot reach the database', {}, { cause });
}

interface Committed {
  readonly outcomes: readonly JobOutcome[];
  readonly commit: number;
  /** True if the connection was lost during the commit. In this case, the outcome is unknown. */
  readonly isUnknown: boolean;
}

class ModelWriter implements PrefetchWriter {
  hasBegun = false;
  readonly #access: Access;
  readonly #clock: DatabaseClock;
  readonly #id = crypto.randomUUID();
  #connection: DatabaseConnection | undefined;
  #commits = 0;

  constructor(access: Access, clock: DatabaseClock) {
    this.#access = access;
    this.#clock = clock;
  }

  async transact(work: (fetched: FetchedRows) => WorkPass): Promise<readonly JobOutcome[]> {
    this.hasBegun = false;
    for (;;) {
      const end = await this.#access.withRetries(() => this.#attempt(work));
      if (!end.isUnknown || (await this.#isStored(end.commit))) return end.outcomes;
    }
  }

  affectsAllWrites(error: unknown): boolean {
    return error instanceof LogError && error.code === 'storage';
  }

  async close(): Promise<void> {
    this.#connection?.close();
  }

  async #attempt(work: (fetched: FetchedRows) => WorkPass): Promise<Committed> {
    const first = work(new FetchedRows());
    if (first.requests.length === 0 && !first.draft.hasChanged)
      return { outcomes: first.outcomes, commit: 0, isUnknown: false };
    this.#connection = this.#access.connect(this.#connection);
    this.hasBegun = true;
    const connection = this.#connection;
    try {
      return await this.#runOn(connection, work, requestedSessions(first.requests));
    } catch (error) {
      if (!connection.isClosed && !(error instanceof ConnectionLost))
        await this.#rollback(connection).catch(() => {});
      throw error;
    }
  }

  async #runOn(
    connection: DatabaseConnection,
    work: (fetched: FetchedRows) => WorkPass,
    sessions: readonly SessionId[],
  ): Promise<Committed> {
    const { database } = this.#access;
    const fetched = new FetchedRows();
    const begun = await connection.ask<readonly (SessionRow | undefined)[]>('begin', (answer) =>
      database.lock(connection, [...sessions].sort(), () => {
        const now = this.#access.time;
        this.#begunAt = database.world.now;
        answer(() => {
          this.#serverTime = now;
          return sessions.map((session) => rowOf(database.disk.state, session));
        });
      }),
    );
    this.#clock.set(this.#serverTime);
    for (const [index, session] of sessions.entries()) fetched.putSession(session, begun[index]);
    for (;;) {
      const pass = work(fetched);
      const more = requestedSessions(pass.requests);
      if (more.length > 0) {
        await this.#rollback(connection);
        return this.#runOn(connection, work, [...new Set([...sessions, ...more])]);
      }
      if (pass.requests.length === 0) return this.#finish(connection, pass);
      await connection.ask<void>('fetch', (answer) =>
        answer(() => {
          for (const request of pass.requests) this.#fetch(fetched, request);
        }),
      );
    }
  }

  #serverTime = 0;
  /** The true time of the simulation at which the current transaction began. */
  #begunAt = 0;

  #fetch(fetched: FetchedRows, request: RowRequest): void {
    const { disk } = this.#access.database;
    if (request.what === 'epoch' || request.what === 'made') {
      // The numbers come from database sequences, and a rollback does not reset sequences.
      const draft = new StateDraft(disk.state);
      if (request.what === 'epoch') fetched.epochs.push(draft.nextEpoch());
      else {
        const { made, incarnation } = draft.nextSession();
        fetched.made.push(made);
        fetched.incarnation = incarnation;
      }
      return disk.advance(draft.result);
    }
    const owner = fetched.sessions.get(request.session);
    const stored = disk.state.sessions.get(request.session);
    if (owner === undefined || stored === undefined) return;
    if (request.what === 'producer')
      owner.producers.set(request.name, stored.producers.get(request.name));
    if (request.what === 'command')
      owner.commands.set(request.name, stored.commands.get(request.name));
    if (request.what === 'blobs') owner.blobs = new Map();
    const { records } = stored;
    const places = records.map(({ offset }) => ({ first: offset, last: offset }));
    if (request.what === 'records') keepRecords(owner, { after: 0, records, places });
  }

  async #finish(connection: DatabaseConnection, { draft, outcomes }: WorkPass): Promise<Committed> {
    if (!draft.hasChanged) {
      await this.#rollback(connection);
      return { outcomes, commit: 0, isUnknown: false };
    }
    const { database, machine } = this.#access;
    const commit = ++this.#commits;
    try {
      await connection.ask<void>('commit', (answer) =>
        answer(() => {
          try {
            database.disk.assertWritable();
            database.disk.commit(machine, written(draft, database.disk.state), this.#begunAt);
            database.stamps.set(this.#id, commit);
          } finally {
            database.release(connection);
          }
        }),
      );
      return { outcomes, commit, isUnknown: false };
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      return { outcomes, commit, isUnknown: true };
    }
  }

  #isStored(commit: number): Promise<boolean> {
    const { stamps } = this.#access.database;
    return this.#access.read('stamp', () => stamps.get(this.#id) === commit);
  }

  #rollback(connection: DatabaseConnection): Promise<void> {
    const { database } = this.#access;
    return connection.ask<void>('rollback', (answer) => answer(() => database.release(connection)));
  }
}

/** Applies the changes of a draft to a state, and returns the new state. */
function written(draft: TransactionDraft, state: StoreState): StoreState {
  const result = new StateDraft(state);
  for (const one of draft.sessionDrafts) {
    const { session, row, replaced } = one;
    if (!one.hasChanged) continue;
    if (row === undefined) {
      result.deleteSession(session);
      continue;
    }
    const chunks = one.chunks();
    result.putSession(row);
    if (replaced !== undefined) result.replace(session, replaced.first, replaced.last, []);
    for (const { first, last, body } of chunks)
      result.replace(session, first, last, decodeChunk(body, { session, first, last }));
    for (const producer of one.producers.values()) result.putProducer(producer);
    for (const [key, command] of one.commands) result.putCommand(session, key, command);
  }
  for (const [hash, bytes] of draft.blobChanges.puts) result.putBlob(hash, bytes);
  return result.result;
}

class ModelReader implements LogReader {
  readonly #access: Access;
  readonly #clock: DatabaseClock;

  constructor(access: Access, clock: DatabaseClock) {
    this.#access = access;
    this.#clock = clock;
  }

  session(session: SessionId): Promise<SessionRow | undefined> {
    return this.#access.read('session', (state) => rowOf(state, session));
  }

  async sessions(filter: SessionRowFilter): Promise<readonly SessionRow[]> {
    const read = (state: StoreState) => ({ rows: rowsOf(state, filter), now: this.#access.time });
    const { rows, now } = await this.#access.read('list', read);
    this.#clock.set(now);
    return rows;
  }

  async records(session: SessionId, after: number) {
    return (await this.page(session, after)).records;
  }

  page(session: SessionId, after: number): Promise<RecordPage> {
    return this.#access.read('page', (state) => ({
      row: rowOf(state, session),
      records: recordsOf(state, session, after),
    }));
  }

  blob(hash: string): Promise<Uint8Array | undefined> {
    return this.#access.read('blob', ({ blobs }) => blobs.get(hash));
  }

  async blobSlice(hash: string, start: number, end: number): Promise<Uint8Array | undefined> {
    return (await this.blob(hash))?.slice(start, end);
  }

  /**
   * Calls the listener after commits. Notifications may be lost, so the listener is also called at
   * regular intervals.
   */
  watch(listener: (sessions?: readonly SessionId[]) => void): () => void {
    const { database, machine } = this.#access;
    const { disk, network, world } = database;
    const poll = setInterval(() => listener(), pollMs);
    const stop = disk.watch(machine, (writer) => {
      const isLost = network.isPartitioned(database.machine, machine) || world.random.oneIn(8);
      if (writer === machine || isLost) return;
      const at = network.arrival(database.machine, machine);
      world.scheduleAt(machine, at, 'is notified', () => listener());
    });
    return () => {
      clearInterval(poll);
      stop();
    };
  }

  close(): void {}
}
