import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { postgresLog } from '@millrace/log/postgres';
import { sqliteLog } from '@millrace/log/sqlite';
import { postgresRows } from '@millrace/server/postgres';
import { exportSqliteRows } from '@millrace/server/sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markers } from '../../../../packages/log/src/suite/drafts.ts';
import { Follower } from '../../../../packages/log/src/suite/follower.ts';
import {
  describeOnPostgres,
  hasPostgres,
  startPostgres,
  type TestPostgres,
} from '../../../../packages/log/src/testing/start-postgres.ts';
import {
  readContents,
  writeFixture,
} from '../../../../packages/log/src/testing/version-fixture.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { backupTarget } from './backup-target.ts';
import { restoreBackup } from './restore-backup.ts';
import { writeBackup } from './write-backup.ts';

const describe = describeOnPostgres();
let postgres: TestPostgres;
beforeAll(async () => {
  if (hasPostgres) postgres = await startPostgres();
});
afterAll(() => postgres?.remove());
const folder = temporaryFolder('backup-postgres');

/** Causes one deadlock. It holds a table and waits for a table that the restore holds. */
async function lockInOtherOrder(url: string): Promise<{ readonly end: Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  // With this setting, this side never checks for deadlocks. So Postgres ends the transaction of
  // the restore.
  await client.query("SET deadlock_timeout = '1h'");
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM millrace_rows.rows FOR SHARE');
  const end = async () => {
    // At this point, the restore has dropped the schema of the log and waits for the schema of the
    // rows.
    const waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'";
    while ((await client.query(waiting)).rows.length === 0) await setTimeout(10);
    await client.query('SELECT 1 FROM millrace_log.sessions');
    await client.query('COMMIT');
    await client.end();
  };
  return { end: end() };
}

describe('21.3: a backup of servers on Postgres', () => {
  test('21.3: is restored into Postgres while servers run, and into a folder', async () => {
    const { url } = postgres;
    const target = backupTarget({ store: url }, {}, { env: {}, cwd: folder() });
    const log = postgresLog({ url });
    const rows = await postgresRows({ url });
    // This session makes sure that the restored sessions get different generation numbers.
    await (await log.open('deleted before')).release();
    await log.delete('deleted before');
    await writeFixture(log);
    await rows.put('tasks', { id: 't', keys: { name: 'weather' }, data: { a: 1 } });
    const before = await rows.put('tasks', { id: 't', keys: { name: 'weather' }, data: { a: 2 } });
    const contents = await readContents(log);
    const path = join(folder(), 'backup');
    const summary = await writeBackup(target, path);
    expect(summary).toMatchObject({ kind: 'server', sessions: 3, blobs: 1, rows: 1 });

    const driver = await log.open('chat fork');
    await driver.append(markers(2));
    await rows.delete('tasks', 't');
    const follower = await new Follower(log, 'closed' as never).reach(1);
    const end = follower.reach(9999).catch((error: unknown) => error);
    const restore = (replace: boolean) => restoreBackup({ path, target, replace });
    await expect(restore(false)).rejects.toMatchObject({ code: 'not_empty' });
    const other = await lockInOtherOrder(url);
    await restore(true);
    await other.end;
    expect(await end).toMatchObject({ code: 'rewound' });
    await expect(driver.append(markers(1))).rejects.toMatchObject({
      code: expect.stringMatching(/fenced|no_session/) as string,
    });
    // The restored session does not contain the lease of the original.
    const { chat, ...others } = contents.sessions;
    const expected = { ...contents, sessions: { ...others, chat: { ...chat, holder: null } } };
    expect(await readContents(log)).toEqual(expected);
    expect(await rows.get('tasks', 't')).toEqual(before);
    // No epoch is used twice, so the rows accept the next run.
    expect((await log.open('chat fork')).epoch).toBeGreaterThan(driver.epoch + 1_000_000_000);
    await log.renewIncarnation();
    await log.close();
    await rows.close();

    const files = backupTarget({ data: 'server' }, {}, { env: {}, cwd: folder() });
    await restoreBackup({ path, target: files, replace: false });
    const copy = sqliteLog({ path: join(folder(), 'server/sessions.db') });
    expect(await readContents(copy)).toEqual(expected);
    await copy.close();
    expect([...exportSqliteRows(join(folder(), 'server/tasks.db'))]).toMatchObject([
      { table: 'tasks', id: 't', version: 2, createdAt: before.createdAt },
    ]);
  });
});
