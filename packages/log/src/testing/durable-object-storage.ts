import { DatabaseSync } from 'node:sqlite';
import type { DurableObjectStorage } from '../durable-object/durable-object-log.ts';

/**
 * Returns the storage of a Durable Object, implemented with a SQLite file. The conformance suite of Durable
 * Objects uses the real storage instead.
 */
export function durableObjectStorage(path: string): {
  storage: DurableObjectStorage;
  database: DatabaseSync;
} {
  const database = new DatabaseSync(path);
  const storage: DurableObjectStorage = {
    sql: {
      exec: (query, ...values) => {
        const bindings = values.map((value) =>
          value instanceof ArrayBuffer ? new Uint8Array(value) : value,
        );
        const rows = database.prepare(query).all(...bindings);
        return {
          toArray: () => rows as ReturnType<ReturnType<typeof storage.sql.exec>['toArray']>,
        };
      },
    },
    transactionSync: (work) => {
      database.exec('BEGIN');
      try {
        const value = work();
        database.exec('COMMIT');
        return value;
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
  };
  return { storage, database };
}
