import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { runRecorded } from '../testing/rewind/recorded-commands.ts';
import { everythingIn, temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { commandFiles } from './command-files.ts';

/** Runs a command in a folder with old files. Returns the conflicts, and a function that undoes the rest. */
async function ran(files: Readonly<Record<string, string>>, command: string) {
  const root = temporaryFolder();
  writeTree(root, files);
  // The files of the user are older than the command.
  for (const name of Object.keys(files)) utimesSync(join(root, name), 1_500_000_000, 1_500_000_000);
  const { plan, undo } = await runRecorded({ root, copies: temporaryFolder() }, [command]);
  const { conflicts } = await plan();
  return {
    unknown: conflicts.map(({ code, path }) => [code, relative(root, path)]),
    everything: () => everythingIn(root),
    undoRest: () => undo(true),
    undo,
  };
}

const thesis = 'years of work';

describe('attack: 18.154 taking back a command deletes no file that the command did not create', () => {
  test.each<[string, Readonly<Record<string, string>>, string, readonly string[]]>([
    [
      'a removed .gitignore that ignores itself',
      { 'data/.gitignore': '*\n', 'data/thesis': thesis, 'data/notes': 'mine' },
      'rm data/.gitignore',
      ['data/notes', 'data/thesis'],
    ],
    [
      'a changed .gitignore',
      { '.gitignore': 'data/\n', 'data/thesis': thesis },
      'echo > .gitignore',
      ['data/thesis'],
    ],
    [
      'a file that leaves an ignored folder',
      { '.gitignore': 'data/\n', 'data/thesis': thesis },
      'mv data/thesis thesis',
      ['thesis'],
    ],
    [
      'a folder that is renamed',
      { '.gitignore': 'data/\n', 'data/thesis': thesis },
      'mv data found',
      ['found/thesis'],
    ],
    [
      'a file that leaves an ignored folder and replaces a file',
      { '.gitignore': 'data/\n', 'data/thesis': thesis, a: 'old' },
      'mv data/thesis a',
      ['a'],
    ],
    [
      'a copy that keeps its time, as a move between file systems makes',
      { '.gitignore': 'data/\n', 'data/thesis': thesis },
      'cp -p data/thesis thesis && rm data/thesis',
      ['thesis'],
    ],
    [
      'a file of which an ignored folder has a second name',
      { '.gitignore': 'data/\n', 'data/.keep': '', a: thesis },
      'ln a b',
      ['b'],
    ],
  ])('%s', async (_name, files, command, kept) => {
    const { unknown, undo, undoRest, everything } = await ran(files, command);
    expect(unknown.toSorted()).toEqual(kept.map((path) => ['unknown', path]));
    const before = everything();
    await expect(undo()).rejects.toMatchObject({ code: 'changed' });
    expect(everything()).toEqual(before);
    await undoRest();
    const after = everything();
    for (const path of kept) expect(after[path]).toBe(before[path]);
  });
});

test('18.155 created, moved and replaced files of a command are still taken back', async () => {
  const files = { '.gitignore': 'out/\n', 'a.txt': 'a', 'sub/b.txt': 'b', 'c.txt': 'c' };
  const { unknown, undo, everything } = await ran(
    files,
    [
      'mkdir -p out new && echo x > out/x && mv out/x new/x',
      'mv sub/b.txt moved.txt && echo more >> moved.txt',
      'echo y > tmp && mv tmp a.txt && rm c.txt',
    ].join(' && '),
  );
  expect(unknown).toEqual([]);
  await undo();
  const after = everything();
  for (const [path, content] of Object.entries(files)) expect(after[path]).toBe(content);
  expect(Object.keys(after).filter((path) => /moved|new\/x|tmp/.test(path))).toEqual([]);
});

test('18.261: attack: taking back a change writes through a folder that became a link', async () => {
  const root = temporaryFolder();
  writeTree(root, { 'tools/server.js': 'good', 'copies/server.js': 'evil' });
  const { undo } = await runRecorded({ root, copies: temporaryFolder() }, [
    'cp tools/server.js copies/server.js',
  ]);
  rmSync(join(root, 'copies'), { recursive: true });
  symlinkSync('tools', join(root, 'copies'));
  await expect(undo()).rejects.toThrow('copies/server.js');
  expect(readFileSync(join(root, 'tools/server.js'), 'utf8')).toBe('good');
});

test.each([
  ['that git tracks', 'echo new > dist/a.js'],
  ['that the command ignores', 'echo new > notes.txt; echo "*" > .gitignore'],
])(
  '18.537: attack: a command changes an ignored file %s, and the change cannot be taken back',
  async (_, command) => {
    const root = temporaryFolder();
    const files = { '.gitignore': 'dist/\n', 'dist/a.js': 'old', 'notes.txt': 'old' };
    writeTree(root, files);
    execFileSync('git', ['init', '-q'], { cwd: root });
    execFileSync('git', ['add', '-f', 'dist/a.js'], { cwd: root });
    const { undo } = await runRecorded({ root, copies: temporaryFolder() }, [command]);
    await undo();
    const after = Object.keys(files).map((name) => [name, readFileSync(join(root, name), 'utf8')]);
    expect(Object.fromEntries(after)).toEqual(files);
  },
);

// The user saves a denied file in an editor while a command runs. In this test, the command changes the file itself.
test.each<PermissionRule>([
  { path: 'private/**', decision: 'deny' },
  { path: 'private', decision: 'deny' },
  { path: 'notes.txt', decision: 'deny' },
  { path: 'alias/**', decision: 'deny' },
  { tool: 'read', path: 'private/**', decision: 'deny' },
  { tool: 'bash', path: 'private/**', decision: 'deny' },
])(
  '18.1093: attack: the content of a path that the rule %j denies gets onto the log or into the copies',
  async (rule) => {
    const [root, copies] = [temporaryFolder(), temporaryFolder()];
    writeTree(root, { 'private/notes.txt': 'OLD-SALARY', 'private/gone.txt': 'x', 'a.txt': 'OLD' });
    symlinkSync('private', join(root, 'alias'));
    const policy = permissionPolicy({ root, rules: [rule] });
    const omits = (path: string) =>
      ['read', 'bash'].some((tool) => !policy.mayReach(tool, { path, kind: 'read' }));
    // Many changes make the recorder store its copies for the next process.
    const many = 'for i in $(seq 300); do echo $i > f$i; done';
    const commands = [`${many}; printf NEW-SALARY > private/notes.txt; printf NEW > a.txt`, 'true'];
    const { log, changes, undo } = await runRecorded({ root, copies, omits }, commands);
    const [path] = changes.flatMap((one) => (one.path.endsWith('notes.txt') ? [one] : []));
    expect(path).toMatchObject({ before: undefined, after: undefined });
    for (const text of ['OLD-SALARY', 'NEW-SALARY']) {
      const hash = createHash('sha256').update(text).digest('hex');
      expect(await log.blobs.get(hash)).toBeUndefined();
      expect(JSON.stringify(changes)).not.toContain(hash);
    }
    const packs = Object.values(everythingIn(copies)).join();
    expect(packs).toContain('OLD');
    expect(packs).not.toContain('SALARY');
    await undo(true);
    expect(readFileSync(join(root, 'private/notes.txt'), 'utf8')).toBe('NEW-SALARY');
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('OLD');
  },
);

test('18.1094: attack: the copy of a file gets onto the log after a rule denies its path', async () => {
  const [root, copies] = [temporaryFolder(), temporaryFolder()];
  writeTree(root, { 'notes.txt': 'OLD-SALARY' });
  const denied = new Set<string>();
  const omits = (path: string) => denied.has(path);
  const workspace = createWorkspace({ root });
  const files = commandFiles({ workspace, copies, omits });
  const recorded: unknown[] = [];
  const blobs: string[] = [];
  const changeLog = {
    blobs: { put: async (bytes: Uint8Array) => void blobs.push(Buffer.from(bytes).toString()) },
    recordFileChange: async (change: unknown) => void recorded.push(change),
  } as unknown as Parameters<typeof files.start>[0];
  await files.warm();
  denied.add('notes.txt');
  const end = await files.start(changeLog);
  writeTree(root, { 'notes.txt': 'NEW-SALARY' });
  await end();
  expect(blobs).toEqual([]);
  expect(recorded).toContainEqual({
    ...{ path: join(root, 'notes.txt'), before: undefined, after: undefined, scope: 'pending' },
  });
});
