import type { SessionId } from '@millrace/core';
import type { JobOutcome } from '../engine/commits/commit-queue.ts';
import {
  FetchedRows,
  type FetchedSession,
  keepRecords,
  type RowRequest,
} from '../prefetch/fetched-rows.ts';
import type { PrefetchWriter, WorkPass } from '../prefetch/prefetch-commits.ts';
import { ChunkReader } from '../storage/chunk-rows.ts';
import type { CommandRow, ProducerRow } from '../storage/rows.ts';
import type { ChangeChannel } from './change-channel.ts';
import { answerOf, type LogDatabase, ownedBy, stores } from './database.ts';
import { chunksAfter, readChunks, readSession } from './indexeddb-reader.ts';
import type { IdbTransaction } from './web-platform.ts';
import { type StoredUse, writeDraft } from './write-draft.ts';

/**
 * Maximum number of rounds per transaction. Each round fetches at least one missing row, and real work needs
 * far fewer rows.
 */
const maxRounds = 10_000;

/**
 * Runs the work of this log in transactions. IndexedDB runs writing transactions one after the other,
 * including transactions of other tabs. The rows that a transaction has read therefore stay valid until its
 * commit.
 */
export class IndexedDbWriter implements PrefetchWriter {
  readonly #database: LogDatabase;
  readonly #changes: ChangeChannel;
  hasBegun = false;

  constructor(database: LogDatabase, changes: ChangeChannel) {
    this.#database = database;
    this.#changes = changes;
  }

  async transact(work: (fetched: FetchedRows) => WorkPass): Promise<readonly JobOutcome[]> {
    this.hasBegun = false;
    const first = work(new FetchedRows());
    if (first.requests.length === 0 && !first.draft.hasChanged) return first.outcomes;
    const { draft, outcomes } = await this.#database.transact('readwrite', async (tx) => {
      this.hasBegun = true;
      const fetched = new FetchedRows();
      for (let round = 0; round < maxRounds; round++) {
        // The first pass ran before the transaction, without rows. The first round fetches the rows that this
        // pass requested.
        const pass = round === 0 && first.requests.length > 0 ? first : work(fetched);
        if (pass.requests.length === 0) {
          if (pass.draft.hasChanged) await writeDraft(tx, pass.draft);
          return pass;
        }
        await fetchRequests(tx, fetched, pass.requests);
      }
      throw new Error(`a transaction still misses rows after ${maxRounds} rounds`);
    });
    const changed = [...draft.sessionDrafts].filter(({ hasChanged }) => hasChanged);
    if (changed.length > 0) this.#changes.publish(changed.map(({ session }) => session));
    return outcomes;
  }

  /** Returns whether all writes would fail with this error, because the storage is full or forbidden. */
  affectsAllWrites(error: unknown): boolean {
    const { name } = ((error as Error).cause ?? {}) as { readonly name?: string };
    return name === 'QuotaExceededError' || name === 'SecurityError' || name === 'VersionError';
  }

  async close(): Promise<void> {}
}

/** Fetches all requested rows. */
async function fetchRequests(
  tx: IdbTransaction,
  fetched: FetchedRows,
  requests: readonly RowRequest[],
): Promise<void> {
  const count = (what: RowRequest['what']) => requests.filter((one) => one.what === what).length;
  await Promise.all([
    allocate(tx, 'epochs', count('epoch'), fetched.epochs),
    allocate(tx, 'made', count('made'), fetched.made),
    ...requests.map((request) => fetchRow(tx, fetched, request)),
  ]);
}

/** Takes the next numbers of a counter and returns them. */
async function allocate(
  tx: IdbTransaction,
  counter: string,
  count: number,
  into: number[],
): Promise<void> {
  if (count === 0) return;
  const store = tx.objectStore(stores.counters);
  const last = Number((await answerOf(store.get(counter))) ?? 0);
  for (let number = 1; number <= count; number++) into.push(last + number);
  await answerOf(store.put(last + count, counter));
}

async function fetchRow(
  tx: IdbTransaction,
  fetched: FetchedRows,
  request: RowRequest,
): Promise<void> {
  switch (request.what) {
    case 'epoch':
    case 'made':
      return;
    case 'session':
      // Two jobs may request the same session. The answer to the second request must not remove rows that
      // were fetched for the first request.
      if (!fetched.sessions.has(request.session))
        fetched.putSession(request.session, await readSession(tx, request.session));
      return;
    default: {
      const owner = fetched.sessions.get(request.session);
      if (owner !== undefined) await fetchOwned(tx, owner, request);
    }
  }
}

type OwnedRequest = Extract<RowRequest, { readonly session: SessionId }>;

async function fetchOwned(
  tx: IdbTransaction,
  owner: FetchedSession,
  request: Exclude<OwnedRequest, { readonly what: 'session' }>,
): Promise<void> {
  const { made, through } = owner.row;
  const get = (store: string, name: string) => answerOf(tx.objectStore(store).get([made, name]));
  switch (request.what) {
    case 'producer': {
      const row = await get(stores.producers, request.name);
      owner.producers.set(request.name, row as ProducerRow | undefined);
      return;
    }
    case 'command': {
      const row = await get(stores.commands, request.name);
      owner.commands.set(request.name, row as CommandRow | undefined);
      return;
    }
    case 'blobs': {
      const uses = await answerOf(tx.objectStore(stores.uses).getAll(ownedBy(made)));
      owner.blobs = new Map((uses as StoredUse[]).map(({ hash, count }) => [hash, count]));
      return;
    }
    case 'records': {
      const places = await readChunks(tx, chunksAfter(made, request.after));
      const reader = new ChunkReader(request.session, request.after);
      // Whole rows are decoded, because a change of a part of a row writes the whole row again.
      for (const chunk of places) reader.add(chunk, true);
      if (reader.end < through) throw reader.missing();
      const after = Math.min(request.after, (places[0]?.first ?? request.after + 1) - 1);
      return keepRecords(owner, { after, records: reader.records, places });
    }
  }
}
