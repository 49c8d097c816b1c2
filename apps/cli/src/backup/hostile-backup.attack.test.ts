import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqliteLog } from '@millrace/log/sqlite';
import { expect, test } from 'vitest';
import { markers } from '../../../../packages/log/src/suite/drafts.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { backupTarget } from './backup-target.ts';
import { restoreBackup } from './restore-backup.ts';
import { writeBackup } from './write-backup.ts';

// A user restores a backup that a hostile person has changed. The restored content comes from that
// person, but the backup must not affect later writes.

const folder = temporaryFolder('hostile-backup');
const target = (name: string) =>
  backupTarget({ store: name }, {}, { env: { HOME: folder() }, cwd: folder() });

function schemaOf(path: string): readonly unknown[] {
  const database = new DatabaseSync(path);
  try {
    return database
      .prepare('SELECT type, name FROM sqlite_schema ORDER BY type, name')
      .all()
      .map(({ type, name }) => `${type} ${name}`);
  } finally {
    database.close();
  }
}

async function backupOf(name: string): Promise<string> {
  const log = sqliteLog({ path: join(folder(), `${name}.db`) });
  await (await log.open('chat')).append(markers(3));
  await log.close();
  const path = join(folder(), `${name}.backup`);
  await writeBackup(target(`${name}.db`), path);
  return path;
}

test.for([
  ['a trigger', 'CREATE TRIGGER evil AFTER INSERT ON chunks BEGIN DELETE FROM chunks; END'],
  [
    'a trigger with the name of ours',
    `DROP TRIGGER drop_blob_pieces;
     CREATE TRIGGER drop_blob_pieces AFTER INSERT ON commands BEGIN DELETE FROM chunks; END`,
  ],
  ['a view', 'CREATE VIEW evil AS SELECT * FROM chunks'],
  ['an index', 'CREATE UNIQUE INDEX evil ON chunks (first)'],
] as const)('18.68: attack: %s of a backup stays in the restored log', async ([what, sql]) => {
  const path = await backupOf(what);
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  await restoreBackup({ path, target: target(`${what} again.db`), replace: false });
  const restored = join(folder(), `${what} again.db`);
  expect(schemaOf(restored)).toEqual(schemaOf(join(folder(), `${what}.db`)));
  const log = sqliteLog({ path: restored });
  await (await log.open('chat')).append(markers(2));
  await log.submit('chat', { type: 'message' }, 'key');
  expect((await log.read('chat', { from: 0 })).records.length).toBeGreaterThanOrEqual(6);
  await log.close();
});

test('18.69: attack: a backup has a virtual table, which is code that reads its pages', async () => {
  const path = await backupOf('virtual');
  const database = new DatabaseSync(path);
  database.exec('CREATE VIRTUAL TABLE evil USING fts5(a)');
  database.close();
  const restored = restoreBackup({ path, target: target('other.db'), replace: false });
  await expect(restored).rejects.toThrow('it has virtual tables');
});
