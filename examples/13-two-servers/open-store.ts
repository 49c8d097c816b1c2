import { postgresLog } from '@millrace/log/postgres';
import { redisBus } from '@millrace/log/redis';
import { sqliteLog } from '@millrace/log/sqlite';
import { postgresRows } from '@millrace/server/postgres';
import { sqliteRows } from '@millrace/server/sqlite';

/**
 * Opens Postgres and Redis if STORE and BUS are set, for servers on several machines. Otherwise
 * opens SQLite files in FOLDER.
 */
export async function openStore() {
  const { STORE: store, BUS: bus, FOLDER: folder = '.' } = process.env;
  const redis = bus === undefined ? undefined : redisBus({ url: bus });
  const isPostgres = store !== undefined;
  const log = isPostgres
    ? postgresLog({ url: store, bus: redis })
    : sqliteLog({ path: `${folder}/log.sqlite` });
  const rows = isPostgres
    ? await postgresRows({ url: store })
    : sqliteRows({ path: `${folder}/rows.sqlite` });
  const close = async () => {
    await log.close();
    await rows.close();
    await redis?.close();
  };
  return { log, rows, close };
}
