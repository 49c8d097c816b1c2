import type { SessionDraft } from '../prefetch/session-draft.ts';
import type { TransactionDraft } from '../prefetch/transaction-draft.ts';
import { answerOf, keyRange, ownedBy, stores } from './database.ts';
import { sessionKey, toStoredSession } from './indexeddb-reader.ts';
import type { IdbTransaction } from './web-platform.ts';

/** Stores how many records of a session reference a blob. */
export interface StoredUse {
  readonly hash: string;
  readonly count: number;
}

/**
 * Stores the number of holds of a blob. Each `put` adds a hold, which protects the blob from deletion until a
 * record references it.
 */
interface StoredHold {
  readonly count: number;
  /** The time of the last `put` of the blob, in milliseconds since 1970. */
  readonly putAt: number;
}

/** Writes the draft in the transaction. Resolves when all requests are answered. */
export async function writeDraft(tx: IdbTransaction, draft: TransactionDraft): Promise<void> {
  const drafts = [...draft.sessionDrafts].filter(({ hasChanged }) => hasChanged);
  await Promise.all(dropGone(tx, draft, drafts).map(answerOf));
  await Promise.all(drafts.flatMap((one) => putSession(tx, one)).map(answerOf));
  await writeBlobs(tx, draft, drafts);
}

/** Deletes the rows of deleted sessions and the chunks that the draft replaces. */
function dropGone(tx: IdbTransaction, draft: TransactionDraft, drafts: readonly SessionDraft[]) {
  const owned = [stores.chunks, stores.producers, stores.commands, stores.uses];
  return [
    ...[...draft.deletedSessions].flatMap((made) =>
      owned.map((store) => tx.objectStore(store).delete(ownedBy(made))),
    ),
    ...drafts.flatMap(({ row, session, replaced }) => {
      if (row === undefined) return [tx.objectStore(stores.sessions).delete(sessionKey(session))];
      if (replaced === undefined) return [];
      const range = keyRange([row.made, replaced.first], [row.made, replaced.last]);
      return [tx.objectStore(stores.chunks).delete(range)];
    }),
  ];
}

function putSession(tx: IdbTransaction, draft: SessionDraft) {
  const { row } = draft;
  if (row === undefined) return [];
  const { made } = row;
  const put = (store: string, value: unknown, ...key: readonly (string | number)[]) =>
    tx.objectStore(store).put(value, [made, ...key]);
  return [
    tx.objectStore(stores.sessions).put(toStoredSession(row)),
    ...draft.chunks().map((chunk) => put(stores.chunks, chunk, chunk.last)),
    ...[...draft.producers].map(([name, producer]) => put(stores.producers, producer, name)),
    ...[...draft.commands].map(([key, command]) => put(stores.commands, command, key)),
  ];
}

async function writeBlobs(
  tx: IdbTransaction,
  draft: TransactionDraft,
  drafts: readonly SessionDraft[],
): Promise<void> {
  const { puts, holds, dropped } = draft.blobChanges;
  const uses = drafts.flatMap(({ row, uses: counts }) =>
    row === undefined ? [] : [...counts].map(([hash, more]) => ({ made: row.made, hash, more })),
  );
  await Promise.all([
    ...[...puts].map(([hash, bytes]) => putBlob(tx, hash, bytes)),
    ...[...holds].map(([hash, change]) => changeHold(tx, hash, change)),
    ...uses.map((use) => changeUse(tx, use)),
  ]);
  await Promise.all([...dropped].map((hash) => dropUnused(tx, hash)));
}

/** Stores the blob if it is new. */
async function putBlob(tx: IdbTransaction, hash: string, bytes: Uint8Array): Promise<void> {
  const store = tx.objectStore(stores.blobs);
  if ((await answerOf(store.getKey(hash))) === undefined) await answerOf(store.put(bytes, hash));
}

async function changeHold(
  tx: IdbTransaction,
  hash: string,
  { added, least, putAt }: { added: number; least: number; putAt: number },
): Promise<void> {
  const store = tx.objectStore(stores.holds);
  const before = (await answerOf(store.get(hash))) as StoredHold | undefined;
  const count = Math.max((before?.count ?? 0) + added, least);
  const hold: StoredHold = { count, putAt: Math.max(putAt, before?.putAt ?? 0) };
  await answerOf(count > 0 ? store.put(hold, hash) : store.delete(hash));
}

async function changeUse(
  tx: IdbTransaction,
  { made, hash, more }: { made: number; hash: string; more: number },
): Promise<void> {
  const store = tx.objectStore(stores.uses);
  const before = (await answerOf(store.get([made, hash]))) as StoredUse | undefined;
  const use: StoredUse = { hash, count: (before?.count ?? 0) + more };
  await answerOf(use.count > 0 ? store.put(use, [made, hash]) : store.delete([made, hash]));
}

/** Deletes the blob if it has no references and no holds. */
async function dropUnused(tx: IdbTransaction, hash: string): Promise<void> {
  const [uses, hold] = await Promise.all([
    answerOf(tx.objectStore(stores.uses).index('hash').count(hash)),
    answerOf(tx.objectStore(stores.holds).getKey(hash)),
  ]);
  if (uses === 0 && hold === undefined) await answerOf(tx.objectStore(stores.blobs).delete(hash));
}

/**
 * Deletes blobs that were stored before a time and that no record references. Returns the number of deleted
 * blobs.
 */
export async function dropForgottenBlobs(tx: IdbTransaction, before: number): Promise<number> {
  const holds = tx.objectStore(stores.holds);
  const [keys, values] = await Promise.all([
    answerOf(holds.getAllKeys(null)) as Promise<string[]>,
    answerOf(holds.getAll(null)) as Promise<StoredHold[]>,
  ]);
  const old = keys.filter((_, index) => (values[index]?.putAt ?? before) < before);
  const blobs = tx.objectStore(stores.blobs);
  for (const hash of old) await answerOf(holds.delete(hash));
  for (const hash of old) await dropUnused(tx, hash);
  const left = await Promise.all(old.map((hash) => answerOf(blobs.getKey(hash))));
  return left.filter((key) => key === undefined).length;
}
