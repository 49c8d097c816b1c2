import { randomUUID } from 'node:crypto';
import type { SessionId } from '@millrace/core';
import { systemClock } from '../../contract/clock.ts';
import type { JobOutcome } from '../../engine/commits/commit-queue.ts';
import { FetchedRows, requestedSessions } from '../../prefetch/fetched-rows.ts';
import type { PrefetchWriter, WorkPass } from '../../prefetch/prefetch-commits.ts';
import type { OnCommitPoint } from '../../storage/record-store.ts';
import { channelOf, encodeNotice } from '../change-listener.ts';
import { lockKey, sortedKeys } from '../database/advisory-locks.ts';
import { type Connection, type Query, waitBriefly } from '../database/database.ts';
import { checkLineage } from '../database/lineage.ts';
import type { LogDatabase } from '../database/log-database.ts';
import { serverTime, writerRetentionHours } from '../database/statements.ts';
import {
  affectsAllWrites,
  isConnectionLoss,
  isSerializationFailure,
  unknownOutcome,
} from '../database/storage-error.ts';
import type { ServerClock } from '../server-clock.ts';
import { fetchRequests, fetchSessions } from './fetch-requests.ts';
import { writeDraft } from './write-draft.ts';

/** The result of a transaction. `lost` is the error if the outcome of the commit is unknown. */
interface TransactionResult {
  readonly outcomes: readonly JobOutcome[];
  readonly commit: number;
  /**
   * The time at which the commit was sent, in milliseconds since 1970. The time of day is used, because it
   * also advances while the machine sleeps.
   */
  readonly sentAt?: number;
  readonly lost?: unknown;
}

interface TimeRow {
  readonly now: number;
}

const maxCollisions = 5;
/**
 * Maximum number of rounds per transaction. Each round fetches at least one missing row, and real work needs
 * far fewer rows.
 */
const maxRounds = 10_000;
/**
 * The outcome of a commit can be read for this time. After that, another process may have deleted the row
 * with the commit number, for example if this machine slept for a long time.
 */
const readableMs = (writerRetentionHours / 2) * 3_600_000;

interface WriterOptions {
  readonly onPoint?: OnCommitPoint | undefined;
  /** The server's time. Each transaction updates it. */
  readonly clock: ServerClock;
}

/** Runs all writing transactions of this process on one connection. */
export class PostgresWriter implements PrefetchWriter {
  /** The unique id of this writer. */
  readonly id: string = randomUUID();
  readonly #database: LogDatabase;
  readonly #onPoint: OnCommitPoint | undefined;
  readonly #clock: ServerClock;
  #client: Connection | undefined;
  /**
   * True if the last transaction could begin. If it could not begin, the work cannot be the cause of a
   * failure.
   */
  hasBegun = false;
  /** The number of the last commit. Each transaction also stores this number. */
  #commits = 0;

  constructor(database: LogDatabase, { onPoint, clock }: WriterOptions) {
    this.#database = database;
    this.#onPoint = onPoint;
    this.#clock = clock;
  }

  /**
   * Runs one transaction. It locks the requested sessions, fetches missing rows, and runs the work again
   * until no row is missing. If the connection is lost, it reads the stored commit number. If that number
   * shows that the transaction was not committed, it runs the transaction again.
   */
  async transact(work: (fetched: FetchedRows) => WorkPass): Promise<readonly JobOutcome[]> {
    this.hasBegun = false;
    for (let collisions = 0; ; ) {
      try {
        const end = await this.#database.withRetries(() => this.#attempt(work));
        if (end.lost === undefined || (await this.#isStored(end))) return end.outcomes;
      } catch (error) {
        if (!isSerializationFailure(error) || ++collisions > maxCollisions) throw error;
      }
    }
  }

  affectsAllWrites(error: unknown): boolean {
    return affectsAllWrites(error);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    await waitBriefly(client.query(this.#database.statements.dropWriter, [this.id]));
    await waitBriefly(client.end());
  }

  async #attempt(work: (fetched: FetchedRows) => WorkPass): Promise<TransactionResult> {
    const first = work(new FetchedRows());
    if (first.requests.length === 0 && !first.draft.hasChanged)
      return { outcomes: first.outcomes, commit: 0 };
    this.#onPoint?.('before-begin');
    const client = await this.#connected();
    this.hasBegun = true;
    // The connection must keep the process alive, but only while a transaction runs.
    client.ref();
    try {
      const end = await this.#runOn(client, work, requestedSessions(first.requests));
      if (end.lost !== undefined) this.#drop(client);
      return end;
    } catch (error) {
      if (isConnectionLoss(error)) this.#drop(client);
      else await client.query('ROLLBACK').catch(() => this.#drop(client));
      throw error;
    } finally {
      client.unref();
    }
  }

  async #runOn(
    client: Connection,
    work: (fetched: FetchedRows) => WorkPass,
    sessions: readonly SessionId[],
  ): Promise<TransactionResult> {
    const { statements } = this.#database;
    // A query with a name becomes a prepared statement. These two queries run in every transaction.
    const names = new Map([
      [statements.write, 'millrace write'],
      [statements.sessionsById, 'millrace sessions'],
    ]);
    const { isPooled } = this.#database;
    const ask: Query = async (text, values) => {
      const name = isPooled ? undefined : names.get(text);
      const named = name === undefined ? {} : { name };
      return (await client.query({ text, values: [...values], ...named })).rows;
    };
    const fetched = new FetchedRows();
    const [now] = await Promise.all([
      this.#begin(client, sessions),
      fetchSessions(ask, statements, fetched, sessions),
    ]);
    if (now !== undefined) this.#clock.set(now);
    this.#onPoint?.('after-begin');
    for (let round = 0; round < maxRounds; round++) {
      const pass = work(fetched);
      const more = requestedSessions(pass.requests);
      if (more.length > 0) {
        // All processes must lock in the same order. The transaction therefore starts again and locks all
        // sessions together.
        await client.query('ROLLBACK');
        return this.#runOn(client, work, [...new Set([...sessions, ...more])]);
      }
      if (pass.requests.length === 0) return this.#finish(client, ask, pass);
      await fetchRequests(ask, statements, fetched, pass.requests);
    }
    throw new Error(`a transaction still misses rows after ${maxRounds} rounds`);
  }

  /**
   * Begins a transaction and locks the ids of the sessions. It locks ids, because a session that does not
   * exist yet has no row to lock. Returns the server's time after all locks are taken. The work uses this
   * time to decide whether leases have expired.
   */
  async #begin(client: Connection, sessions: readonly SessionId[]): Promise<number | undefined> {
    // The driver returns one result per statement. The last row comes from the last lock.
    const results: unknown = await client.query(this.#locks(sessions));
    const last = (results as readonly { readonly rows: readonly TimeRow[] }[]).at(-1);
    return last?.rows.at(-1)?.now;
  }

  #locks(sessions: readonly SessionId[]): string {
    const { schema } = this.#database.target;
    const keys = sortedKeys(sessions.map((session) => lockKey(schema, 'session', session)));
    // A migration waits for this lock, so the version that `write` returns stays valid until the commit.
    const shared = `SELECT pg_advisory_xact_lock_shared(${lockKey(schema, 'schema', '')})`;
    const begin = `${this.#database.begin}; ${shared}`;
    if (keys.length === 0) return `${begin}, ${serverTime} AS now`;
    const list = `ARRAY[${keys.join(',')}]::bigint[]`;
    return `${begin}; SELECT pg_advisory_xact_lock(key), ${serverTime} AS now FROM unnest(${list}) key`;
  }

  async #finish(
    client: Connection,
    ask: Query,
    { draft, outcomes }: WorkPass,
  ): Promise<TransactionResult> {
    if (!draft.hasChanged) {
      await client.query('ROLLBACK');
      return { outcomes, commit: 0 };
    }
    const { statements, target } = this.#database;
    const { schema } = target;
    const commit = ++this.#commits;
    const sessions = [...draft.sessionDrafts].flatMap(({ hasChanged, session }) =>
      hasChanged ? [session] : [],
    );
    const notice = { channel: channelOf(schema), notice: encodeNotice(this.id, sessions) };
    const { version } = this.#database;
    const stamp = { writer: this.id, commit };
    const options = { ask, statements, target, version, ...stamp, ...notice };
    if (await writeDraft(draft, options)) this.#onPoint?.('after-insert');
    const sentAt = systemClock.now();
    this.#onPoint?.('before-commit');
    const lost = await this.#commit(client);
    if (lost === undefined) this.#onPoint?.('after-commit');
    return { outcomes, commit, sentAt, lost };
  }

  /**
   * Commits the transaction. Returns the error if the connection was lost, because the outcome is then
   * unknown.
   */
  async #commit(client: Connection): Promise<unknown> {
    try {
      const { command } = await client.query('COMMIT');
      if (command !== 'COMMIT') throw new Error(`the server answered ${command} to COMMIT`);
    } catch (error) {
      if (!isConnectionLoss(error)) throw error;
      return error;
    }
    return undefined;
  }

  /**
   * Reads the stored commit number and returns whether the transaction was committed. Throws if the outcome
   * stays unknown, because a retry could then store the records twice.
   */
  async #isStored({ commit, sentAt = 0, lost }: TransactionResult): Promise<boolean> {
    try {
      const { statements } = this.#database;
      const isStored = await this.#database.withRetries(async () => {
        const client = await this.#connected();
        try {
          const { rows } = await client.query(statements.stampOf, [this.id]);
          return rows[0]?.commits === commit;
        } catch (error) {
          this.#drop(client);
          throw error;
        }
      });
      if (!isStored && systemClock.now() - sentAt > readableMs)
        throw new Error('the commit is too long ago');
      return isStored;
    } catch (error) {
      throw unknownOutcome(lost, this.#database.target, error);
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#client !== undefined) return this.#client;
    const client = await this.#database.connect({ pipeline: true });
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    try {
      await this.#register(client);
    } catch (error) {
      this.#drop(client);
      throw error;
    }
    this.#client = client;
    return client;
  }

  /** Registers this writer and removes the rows of dead writers. */
  async #register(client: Connection): Promise<void> {
    const { register, dropGoneWriters } = this.#database.statements;
    await client.query(register, [this.id]);
    // A standby may have taken over after the previous connection.
    await checkLineage(client, this.#database.target.schema);
    // Errors are ignored, because the next registration deletes these rows.
    await client.query(dropGoneWriters).catch(() => {});
  }

  #drop(client: Connection): void {
    if (this.#client === client) this.#client = undefined;
    client.end().catch(() => {});
  }
}
