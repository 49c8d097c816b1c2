import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { memoryLog } from '@millrace/log';
import { beforeEach, describe, expect, test } from 'vitest';
import { runRecorded, recordedSession as session } from '../testing/rewind/recorded-commands.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { type CommandFilesOptions, commandFiles } from './command-files.ts';
import { planFileChanges } from './plan-file-changes.ts';

let root: string;
let copies: string;
beforeEach(() => {
  root = temporaryFolder();
  copies = temporaryFolder();
});

const at = (name: string) => join(root, name);
const text = (name: string) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : undefined);

/** Runs commands, one per turn, and returns a function that takes their changes back. */
const run = (
  commands: readonly string[],
  options: Partial<CommandFilesOptions> = {},
  log = memoryLog(),
) => runRecorded({ root, copies, ...options }, commands, log);

describe('the changes of a command', () => {
  test('are taken back: changed, created, deleted and moved files', async () => {
    writeTree(root, { 'a.txt': 'one\n', 'b.txt': 'two\n', 'sub/c.txt': 'three\n', same: 'same\n' });
    const { undo, changes } = await run([
      'echo more >> a.txt; rm b.txt; mkdir -p new/deep; echo x > new/deep/d.txt',
      'mv sub/c.txt moved.txt; touch same',
    ]);
    expect(changes.map(({ path }) => path.slice(root.length + 1))).toEqual([
      ...['a.txt', 'new/deep/d.txt', 'b.txt', 'moved.txt', 'sub/c.txt'],
    ]);
    await undo();
    expect(['a.txt', 'b.txt', 'sub/c.txt', 'new/deep/d.txt', 'moved.txt'].map(text)).toEqual([
      ...['one\n', 'two\n', 'three\n', undefined, undefined],
    ]);
  });

  test('include the permissions', async () => {
    writeTree(root, { 'run.sh': 'echo\n' });
    chmodSync(at('run.sh'), 0o644);
    const { undo } = await run(['chmod 755 run.sh']);
    await undo();
    expect(statSync(at('run.sh')).mode & 0o777).toBe(0o644);
  });

  test('are found if a file changes twice within one step of the clock', async () => {
    writeTree(root, { a: '1' });
    const { undo, changes } = await run(['printf 2 > a', 'printf 3 > a', 'printf 4 > a']);
    expect(changes).toHaveLength(3);
    await undo();
    expect(text('a')).toBe('1');
  });

  test('include those of a command that fails, and those of a command that is not found', async () => {
    writeTree(root, { a: '1' });
    const { undo } = await run(['printf 2 > a; exit 3', 'no-such-program']);
    await undo();
    expect(text('a')).toBe('1');
  });

  test('leave out files that git ignores', async () => {
    writeTree(root, { '.gitignore': 'out/\n', 'out/x': '1' });
    const { changes, undo } = await run(['printf 2 > out/x; printf 3 > out/y']);
    expect(changes).toEqual([]);
    await undo();
    expect([text('out/x'), text('out/y')]).toEqual(['2', '3']);
  });

  test('do not include changes that somebody made between two commands', async () => {
    writeTree(root, { a: '1', mine: 'before' });
    const workspace = createWorkspace({ root });
    const files = commandFiles({ workspace, copies });
    await files.warm();
    writeFileSync(at('mine'), 'after');
    const { undo, changes } = await run(['printf 2 > a']);
    expect(changes.map(({ path }) => path)).toEqual([at('a')]);
    await undo();
    expect(text('mine')).toBe('after');
  });

  test('have a start and an end on the log, even if there are none', async () => {
    const { log } = await run(['true']);
    const { records } = await log.read(session as never, { from: 0 });
    const facts = records.flatMap(({ fact }) =>
      fact?.type === 'file_changed' ? [fact.scope] : [],
    );
    expect(facts).toEqual(['pending', 'recorded']);
  });
});

describe('a change that cannot be taken back names its file', () => {
  test('if the file is large, a link or a secret', async () => {
    writeTree(root, { big: 'x'.repeat(2000), '.env': 'KEY=1\n', ok: '1' });
    const { plan, undo } = await run(
      ['echo more >> big; ln -s ok link; echo KEY=2 > .env; printf 2 > ok'],
      { maxFileBytes: 1000 },
    );
    const { conflicts } = await plan();
    expect(conflicts.map(({ path, code }) => [path.slice(root.length + 1), code])).toEqual([
      ['big', 'unknown'],
      ['link', 'unknown'],
      ['.env', 'not_stored'],
    ]);
    await expect(undo()).rejects.toMatchObject({ code: 'changed' });
    expect(text('ok')).toBe('2');
    for (const name of readdirSync(copies, { recursive: true, encoding: 'utf8' }))
      if (statSync(join(copies, name)).isFile())
        expect(readFileSync(join(copies, name), 'utf8')).not.toContain('KEY=');
  });

  test('or its folder, if there are too many files', async () => {
    writeTree(root, Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, '1'])));
    const { plan } = await run(['printf 2 > f1'], { maxFiles: 20 });
    expect((await plan()).conflicts).toMatchObject([{ path: root, code: 'unknown' }]);
  });

  test('or its folder, if the process died, and the known changes can still be taken back', async () => {
    writeTree(root, { a: '1', b: '1' });
    const { log, undo } = await run(['printf 2 > a']);
    const workspace = createWorkspace({ root });
    const died = commandFiles({ workspace, copies });
    const { blobs } = log;
    const records: unknown[] = [];
    await died.start({ blobs, recordFileChange: async (change) => void records.push(change) });
    expect(records).toMatchObject([{ path: root, scope: 'pending' }]);
    const undone = [{ offset: 9, path: root, before: undefined, after: undefined, tool: 'bash' }];
    const unknown = undone.map((change) => ({ ...change, isUnknown: true }));
    const { conflicts } = await planFileChanges(workspace, { undo: unknown });
    expect(conflicts).toMatchObject([{ path: root, code: 'unknown' }]);
    await undo(true);
    expect(text('a')).toBe('1');
  });

  test('if it was ignored before, and is no longer ignored', async () => {
    writeTree(root, { '.gitignore': 'mine\n', mine: 'precious' });
    const long = 5000;
    const workspace = createWorkspace({ root });
    const files = commandFiles({ workspace, copies });
    const { blobs } = memoryLog();
    const scopes: unknown[] = [];
    const now = Date.now;
    Date.now = () => now() + long;
    try {
      const end = await files.start({
        blobs,
        recordFileChange: async ({ scope, path }) => void scopes.push([scope, path]),
      });
      writeFileSync(at('.gitignore'), '');
      await end();
    } finally {
      Date.now = now;
    }
    expect(scopes).toEqual([
      ['pending', root],
      [undefined, at('.gitignore')],
      ['pending', at('mine')],
      ['recorded', root],
    ]);
  });
});

describe('the copies', () => {
  test('can be read only by their owner, and serve the next process', async () => {
    writeTree(root, Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`f${n}`, `${n}`])));
    const workspace = createWorkspace({ root });
    await commandFiles({ workspace, copies }).warm();
    const [own = ''] = readdirSync(copies);
    expect(statSync(join(copies, own)).mode & 0o777).toBe(0o700);
    const names = readdirSync(join(copies, own));
    expect(names.toSorted()).toEqual(['index.json', expect.stringMatching(/^pack-/)]);
    for (const name of names) expect(statSync(join(copies, own, name)).mode & 0o777).toBe(0o600);
    const { undo } = await run(['printf x > f7']);
    await undo();
    expect(text('f7')).toBe('7');
  });

  test('that are damaged or lost are never restored', async () => {
    writeTree(root, { a: 'precious'.repeat(200_000) });
    const workspace = createWorkspace({ root });
    const files = commandFiles({ workspace, copies });
    const log = memoryLog();
    const changes: { before?: { isStored: boolean } | undefined }[] = [];
    const end = await files.start({
      blobs: log.blobs,
      recordFileChange: async (change) => void changes.push(change),
    });
    const [own = ''] = readdirSync(copies);
    for (const name of readdirSync(join(copies, own)))
      writeFileSync(join(copies, own, name), 'other');
    writeFileSync(at('a'), 'changed');
    await end();
    expect(changes[1]).toMatchObject({ before: { isStored: false }, after: { isStored: true } });
  });

  test('that cannot be written do not stop the command', async () => {
    writeTree(root, { a: '1' });
    writeFileSync(join(copies, 'file'), '');
    const { plan } = await run(['printf 2 > a'], { copies: join(copies, 'file', 'below') });
    expect(text('a')).toBe('2');
    expect((await plan()).conflicts).toMatchObject([{ path: root, code: 'unknown' }]);
  });

  test('do not follow links out of the folder', async () => {
    const outside = temporaryFolder();
    writeTree(outside, { secret: 'outside' });
    mkdirSync(at('sub'));
    symlinkSync(outside, at('sub/link'));
    await commandFiles({ workspace: createWorkspace({ root }), copies }).warm();
    const [own = ''] = readdirSync(copies);
    expect(readdirSync(join(copies, own))).toEqual([]);
  });
});
