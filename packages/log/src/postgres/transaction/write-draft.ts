import type { SessionDraft } from '../../prefetch/session-draft.ts';
import type { TransactionDraft } from '../../prefetch/transaction-draft.ts';
import { blobPieceBytes, blobPieces } from '../../storage/blob-pieces.ts';
import type { SessionRow } from '../../storage/rows.ts';
import { toColumns } from '../../storage/session-row.ts';
import { blobLocks } from '../database/advisory-locks.ts';
import type { Query } from '../database/database.ts';
import { tooNew } from '../database/migrate.ts';
import { type Statements, sessionColumns } from '../database/statements.ts';
import type { Target } from '../database/target.ts';

interface WriteOptions {
  readonly ask: Query;
  readonly statements: Statements;
  readonly target: Target;
  /** The version of the tables that this program uses. */
  readonly version: number;
  /** The writer's id, the number of its commit, and the channel for notifications. */
  readonly writer: string;
  readonly commit: number;
  readonly channel: string;
  readonly notice: string;
}

/** Writes the draft to the database. Returns true if it contains records. */
export async function writeDraft(draft: TransactionDraft, options: WriteOptions): Promise<boolean> {
  const { ask, statements } = options;
  const drafts = [...draft.sessionDrafts].filter(({ hasChanged }) => hasChanged);
  await lockBlobs(draft, drafts, options);
  await dropGone(draft, drafts, options);
  const chunks = drafts.flatMap((one) =>
    one.chunks().map((chunk) => ({ made: one.row?.made, ...chunk })),
  );
  const producers = drafts.flatMap(({ row, producers: rows }) =>
    [...rows.values()].map((producer) => ({ made: row?.made, producer })),
  );
  const commands = drafts.flatMap(({ row, commands: rows }) =>
    [...rows].map(([key, command]) => ({ made: row?.made, key, command })),
  );
  const rows = drafts.flatMap(({ row }): SessionRow[] => (row === undefined ? [] : [row]));
  const fields = rows.map(toColumns);
  const [answer] = await ask<{ readonly version: number }>(statements.write, [
    ...sessionColumns.map(([name]) => fields.map((one) => one[name])),
    chunks.map(({ made }) => made),
    chunks.map(({ first }) => first),
    chunks.map(({ last }) => last),
    chunks.map(({ body }) => body),
    producers.map(({ made }) => made),
    producers.map(({ producer }) => JSON.stringify(producer.producer)),
    producers.map(({ producer }) => JSON.stringify(producer)),
    commands.map(({ made }) => made),
    commands.map(({ key }) => JSON.stringify(key)),
    commands.map(({ command }) => command.offset),
    commands.map(({ command }) => command.isConsumed),
    options.writer,
    options.commit,
    options.channel,
    options.notice,
  ]);
  const { version } = answer ?? options;
  // A later version of the program may have migrated the tables while this program runs. In this case, the
  // transaction must not be committed.
  if (version !== options.version) throw tooNew(options.target, version, options.version);
  await writeBlobs(draft, drafts, options);
  await writeSnapshots(draft, options);
  return chunks.length > 0;
}

/** Deletes the rows of deleted sessions and the chunks that the draft replaces. */
async function dropGone(
  draft: TransactionDraft,
  drafts: readonly SessionDraft[],
  { ask, statements }: WriteOptions,
): Promise<void> {
  const gone = [...draft.deletedSessions];
  if (gone.length > 0) for (const sql of statements.dropOwned) await ask(sql, [gone]);
  // A renamed session leaves no row with its old id, but its records stay.
  const ids = drafts.filter(({ row }) => row === undefined).map(({ session }) => session);
  if (ids.length > 0) await ask(statements.dropSessions, [ids]);
  const replaced = drafts.flatMap(({ row, replaced: stretch }) =>
    row === undefined || stretch === undefined ? [] : [{ made: row.made, ...stretch }],
  );
  if (replaced.length === 0) return;
  await ask(statements.dropChunks, [
    replaced.map(({ made }) => made),
    replaced.map(({ first }) => first),
    replaced.map(({ last }) => last),
  ]);
}

async function lockBlobs(
  draft: TransactionDraft,
  drafts: readonly SessionDraft[],
  { ask, target: { schema } }: WriteOptions,
): Promise<void> {
  const { puts, holds, dropped } = draft.blobChanges;
  const uses = drafts.flatMap((one) => [...one.uses.keys()]);
  const hashes = new Set([...puts.keys(), ...holds.keys(), ...dropped, ...uses]);
  for (const { sql, values } of blobLocks(schema, [...hashes])) await ask(sql, values);
}

async function writeBlobs(
  draft: TransactionDraft,
  drafts: readonly SessionDraft[],
  { ask, statements }: WriteOptions,
): Promise<void> {
  const { puts, holds, dropped } = draft.blobChanges;
  for (const [hash, bytes] of puts) await writeBlob(hash, bytes, { ask, statements });
  const changes = [...holds];
  if (changes.length > 0) {
    const hashes = changes.map(([hash]) => hash);
    const values = [
      hashes,
      changes.map(([, { added }]) => added),
      changes.map(([, { least }]) => least),
      changes.map(([, { putAt }]) => putAt),
    ];
    // Updates run before inserts, so that rows that the insert adds are not updated as well.
    await ask(statements.changeHolds, values);
    await ask(statements.holdBlobs, values);
    await ask(statements.dropHolds, [hashes]);
  }
  const uses = drafts.flatMap(({ row, uses: counts }) =>
    row === undefined ? [] : [...counts].map(([hash, count]) => ({ made: row.made, hash, count })),
  );
  if (uses.length > 0) {
    const hashes = uses.map(({ hash }) => hash);
    await ask(statements.useBlobs, [
      uses.map(({ made }) => made),
      hashes,
      uses.map(({ count }) => count),
    ]);
    await ask(statements.dropUses, [hashes]);
  }
  if (dropped.size > 0) await ask(statements.dropBlobs, [[...dropped]]);
}

async function writeSnapshots(
  draft: TransactionDraft,
  { ask, statements }: WriteOptions,
): Promise<void> {
  for (const { made, first, parts } of draft.snapshotChanges) {
    await ask(statements.dropSnapshotParts, [made, first]);
    if (parts.length === 0) continue;
    const columns = [parts.map(({ part }) => part), parts.map(({ body }) => body)];
    await ask(statements.putSnapshotParts, [made, ...columns]);
  }
}

/** The number of pieces that are sent to the server at the same time. */
const piecesAtOnce = 16;

async function writeBlob(
  hash: string,
  bytes: Uint8Array,
  { ask, statements }: Pick<WriteOptions, 'ask' | 'statements'>,
): Promise<void> {
  const isOnePiece = bytes.length <= blobPieceBytes;
  const row = isOnePiece ? [asBuffer(bytes), null] : [Buffer.alloc(0), bytes.length];
  const isNew = (await ask(statements.putBlob, [hash, ...row])).length > 0;
  if (isOnePiece || !isNew) return;
  let sent: Promise<unknown>[] = [];
  let piece = 0;
  for (const part of blobPieces(bytes)) {
    sent.push(ask(statements.putBlobPiece, [hash, piece++, asBuffer(part)]));
    if (sent.length < piecesAtOnce) continue;
    await Promise.all(sent);
    sent = [];
  }
  await Promise.all(sent);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
