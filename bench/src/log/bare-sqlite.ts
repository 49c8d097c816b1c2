import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Writes texts as rows, so many in each transaction, and does nothing else: what SQLite itself costs. */
export function bareSqlite(path: string, transactions: readonly (readonly string[])[]): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec('CREATE TABLE rows (key INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT');
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')];
  const insert = database.prepare('INSERT INTO rows (body) VALUES (?)');
  for (const bodies of transactions) {
    begin.run();
    for (const body of bodies) insert.run(body);
    commit.run();
  }
  database.close();
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
}
