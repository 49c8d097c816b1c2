import { randomUUID } from 'node:crypto';
import type { SessionId } from '@millrace/core';
import { systemClock } from '../../contract/clock.ts';
import type { JobOutcome } from '../../engine/commit-queue.ts';
import type { OnPoint } from '../../storage/record-store.ts';
import { channelOf, encodeNotice } from '../change-listener.ts';
import { lockKey, sortedKeys } from '../database/advisory-locks.ts';
import { type Ask, type Connection, waitBriefly } from '../database/database.ts';
import type { LogDatabase } from '../database/log-database.ts';
import { writerRetentionHours } from '../database/statements.ts';
import {
  isConnectionLoss,
  isSerializationFailure,
  unknownOutcome,
} from '../database/storage-error.ts';
import type { ServerClock } from '../server-clock.ts';
import type { TransactionDraft } from './draft.ts';
import { FetchedRows, fetchRequests, fetchSessions, type RowRequest } from './fetched-rows.ts';
import { writeDraft } from './write-draft.ts';

/** What work came to on what was fetched: it missed something, or this is what is to be written. */
export interface WorkPass {
  readonly requests: readonly RowRequest[];
  readonly draft: TransactionDraft;
  readonly outcomes: readonly JobOutcome[];
}

/** What a transaction came to. `lost` is why nobody knows whether it was stored. */
interface TransactionResult {
  readonly outcomes: readonly JobOutcome[];
  readonly commit: number;
  /** Before it was sent, by this machine's clock. */
  readonly sentAt?: number;
  readonly lost?: unknown;
}

const maxCollisions = 5;
/** Each round brings something that work missed; there is no work that misses so much. */
const maxRounds = 10_000;
/** A process that slept for longer than that at a commit may have been taken for a dead one meanwhile. */
const readableMs = (writerRetentionHours / 2) * 3_600_000;

interface WriterOptions {
  readonly onPoint?: OnPoint | undefined;
  /** Is set with each connection. */
  readonly clock: ServerClock;
}

/** The one connection of this process that writes. */
export class PostgresWriter {
  /** Told from all others there ever were. */
  readonly id: string = randomUUID();
  readonly #database: LogDatabase;
  readonly #onPoint: OnPoint | undefined;
  readonly #clock: ServerClock;
  #client: Connection | undefined;
  /** Did the last transaction come so far that what went wrong may be its own doing? */
  hasBegun = false;
  /** Each transaction that is to be committed has its number, which is stored with it. */
  #commits = 0;

  constructor(database: LogDatabase, { onPoint, clock }: WriterOptions) {
    this.#database = database;
    this.#onPoint = onPoint;
    this.#clock = clock;
  }

  /**
   * One transaction: the sessions that work asks for are locked, what it misses is fetched, and it is
   * done again, until it has all. Where the server goes away meanwhile it is done once more, unless it
   * was stored: that is read back.
   */
  async transact(work: (fetched: FetchedRows) => WorkPass): Promise<readonly JobOutcome[]> {
    this.hasBegun = false;
    for (let collisions = 0; ; ) {
      try {
        const end = await this.#database.retrying(() => this.#attempt(work));
        if (end.lost === undefined || (await this.#isStored(end))) return end.outcomes;
      } catch (error) {
        if (!isSerializationFailure(error) || ++collisions > maxCollisions) throw error;
      }
    }
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
    // While something is under way, and not longer, it keeps its process alive.
    client.ref();
    try {
      const end = await this.#runOn(client, work, sessionsIn(first.requests));
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
    // These come each time: the server keeps what it made of them.
    const names = new Map([
      [statements.write, 'millrace write'],
      [statements.sessionsById, 'millrace sessions'],
    ]);
    const ask: Ask = async (text, values) => {
      const name = names.get(text);
      const named = name === undefined ? {} : { name };
      return (await client.query({ text, values: [...values], ...named })).rows;
    };
    const fetched = new FetchedRows();
    await Promise.all([
      client.query(this.#begin(sessions)),
      fetchSessions(ask, statements, fetched, sessions),
    ]);
    this.#onPoint?.('after-begin');
    for (let round = 0; round < maxRounds; round++) {
      const pass = work(fetched);
      const more = sessionsIn(pass.requests);
      if (more.length > 0) {
        // Locks are taken in one order by everybody: so from the start, with all of them.
        await client.query('ROLLBACK');
        return this.#runOn(client, work, [...new Set([...sessions, ...more])]);
      }
      if (pass.requests.length === 0) return this.#finish(client, ask, pass);
      await fetchRequests(ask, statements, fetched, pass.requests);
    }
    throw new Error(`a transaction was not thought out in ${maxRounds} rounds`);
  }

  /** A session that is not there has no row to lock, so it is its name that is locked. */
  #begin(sessions: readonly SessionId[]): string {
    const { schema } = this.#database.target;
    const keys = sortedKeys(sessions.map((session) => lockKey(schema, 'session', session)));
    if (keys.length === 0) return 'BEGIN';
    const list = `ARRAY[${keys.join(',')}]::bigint[]`;
    return `BEGIN; SELECT pg_advisory_xact_lock(key) FROM unnest(${list}) key`;
  }

  async #finish(
    client: Connection,
    ask: Ask,
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
    const options = { ask, statements, schema, writer: this.id, commit, ...notice };
    if (await writeDraft(draft, options)) this.#onPoint?.('after-insert');
    const sentAt = systemClock.now();
    this.#onPoint?.('before-commit');
    const lost = await this.#commit(client);
    if (lost === undefined) this.#onPoint?.('after-commit');
    return { outcomes, commit, sentAt, lost };
  }

  /** Why the answer did not come, where it did not. */
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

  /** A server that cannot be asked for a while leaves it unknown: then nobody may do it again. */
  async #isStored({ commit, sentAt = 0, lost }: TransactionResult): Promise<boolean> {
    try {
      const { statements } = this.#database;
      const isStored = await this.#database.retrying(async () => {
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
        throw new Error('it is too long ago');
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

  /** Says that it is here, and clears up after those who are not any more. */
  async #register(client: Connection): Promise<void> {
    const { register, dropGoneWriters } = this.#database.statements;
    await client.query(register, [this.id]);
    // Nobody depends on it.
    await client.query(dropGoneWriters).catch(() => {});
    await setClock(this.#clock, client);
  }

  #drop(client: Connection): void {
    if (this.#client === client) this.#client = undefined;
    client.end().catch(() => {});
  }
}

async function setClock(clock: ServerClock, client: Connection): Promise<void> {
  const askedAt = systemClock.now();
  const now = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now';
  const { rows } = await client.query<{ readonly now: number }>(now);
  if (rows[0] !== undefined) clock.set(rows[0].now, askedAt, systemClock.now());
}

function sessionsIn(requests: readonly RowRequest[]): readonly SessionId[] {
  return [
    ...new Set(
      requests.flatMap((request) => (request.what === 'session' ? [request.session] : [])),
    ),
  ];
}
