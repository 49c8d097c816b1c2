import { blobLocks } from './blob-locks.ts';
import type { LogDatabase } from './log-database.ts';

/** In one transaction; in between, others come to their turn. */
const blobsAtOnce = 100;

/** Deletes blobs that were stored before a time and that no record named, and gives their number. */
export async function dropForgottenBlobs(database: LogDatabase, before: number): Promise<number> {
  const { statements, target } = database;
  let dropped = 0;
  for (;;) {
    const gone = await database.transact(async (ask) => {
      const asked = [before, blobsAtOnce];
      const found = await ask<{ hash: string }>(statements.forgottenBlobs, asked);
      const hashes = found.map(({ hash }) => hash);
      if (hashes.length === 0) return { looked: 0, deleted: 0 };
      for (const { sql, values } of blobLocks(target.schema, hashes)) await ask(sql, values);
      await ask(statements.dropForgottenHolds, [hashes, before]);
      const deleted = (await ask(statements.dropBlobs, [hashes])).length;
      return { looked: hashes.length, deleted };
    });
    dropped += gone.deleted;
    if (gone.looked < blobsAtOnce) return dropped;
  }
}
