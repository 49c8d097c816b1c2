import { DatabaseSync } from 'node:sqlite';

/** Writes texts as rows, and does nothing else. It measures the cost of SQLite itself. */
export class BareSqlite {
  readonly #database: DatabaseSync;
  readonly #statements;

  constructor(path: string) {
    const database = new DatabaseSync(path);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    database.exec('CREATE TABLE rows (key INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT');
    this.#database = database;
    this.#statements = {
      begin: database.prepare('BEGIN IMMEDIATE'),
      insert: database.prepare('INSERT INTO rows (body) VALUES (?)'),
      commit: database.prepare('COMMIT'),
    };
  }

  /** Writes each inner array as one transaction. */
  write(transactions: readonly (readonly string[])[]): void {
    const { begin, insert, commit } = this.#statements;
    for (const bodies of transactions) {
      begin.run();
      for (const body of bodies) insert.run(body);
      commit.run();
    }
  }

  close(): void {
    this.#database.close();
  }
}
