import { postgresLog } from '@millrace/log/postgres';
import { redisBus } from '@millrace/log/redis';
import { sqliteLog } from '@millrace/log/sqlite';
import { postgresRows } from '@millrace/server/postgres';
import { sqliteRows } from '@millrace/server/sqlite';

/** On Postgres and Redis where their addresses are set, as on several machines; else in one folder of this one. */
export async function openStore() {
  const { STORE: store, BUS: bus, FOLDER: folder = '.' } = process.env;
  const copies = bus === undefined ? undefined : redisBus({ url: bus });
  const isPostgres = store !== undefined;
  const log = isPostgres
    ? postgresLog({ url: store, bus: copies })
    : sqliteLog({ path: `${folder}/log.sqlite` });
  const rows = isPostgres
    ? await postgresRows({ url: store })
    : sqliteRows({ path: `${folder}/rows.sqlite` });
  const close = async () => {
    await log.close();
    await rows.close();
    await copies?.close();
  };
  return { log, rows, close };
}
