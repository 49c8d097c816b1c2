import { sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Rows } from './rows.ts';

/**
 * Rows of which no task's is there before its session: whoever hears of a task can stream it, also when
 * nothing was said in it yet. Nobody knows the id before, so that nobody finds the session held.
 */
export function rowsWithSessions(rows: Rows, log: Log): Rows {
  return {
    get: (table, id) => rows.get(table, id),
    list: (table, query) => rows.list(table, query),
    async put(table, row, options) {
      if (table !== 'tasks' || options?.ifVersion !== 0) return rows.put(table, row, options);
      const session = sessionId(row.id);
      const driver = await log.open(session, { holder: 'a new task' });
      await driver.release();
      try {
        return await rows.put(table, row, options);
      } catch (error) {
        await log.delete(session, { ifThrough: 0 });
        throw error;
      }
    },
    delete: (table, id) => rows.delete(table, id),
    close: () => rows.close(),
  };
}
