import { DatabaseSync } from 'node:sqlite';
import { RowsError } from '../../contract/rows.ts';
import { answerOf, migrate } from './schema.ts';

const pauseMs = 5;

/** The file, made or brought up to date. */
export function openRows(path: string, busyTimeoutMs: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    // Several who make a file at once exclude each other here, and SQLite lets nobody wait for it.
    untilFree(busyTimeoutMs, () => setUp(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function setUp(database: DatabaseSync, path: string): void {
  const application = answerOf(database, 'PRAGMA application_id');
  // Before the journal is changed: the file may be another program's.
  if (application !== 0) migrate(database, path);
  if (answerOf(database, 'PRAGMA journal_mode = WAL') !== 'wal') {
    const message = `Cannot open ${path}: its file system does not let processes share memory. Put it on a local disk`;
    throw new RowsError('storage', message, { path });
  }
  database.exec('PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON');
  migrate(database, path);
}

function untilFree(timeoutMs: number, run: () => void): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { readonly errcode?: number };
  return (errcode & 0xff) === 5;
}
