import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { openWorktrees } from './worktrees.ts';

// Two sub-agents create parts of a repository in two worktrees. No part runs a program, but all of them together
// do: `git status` runs the program of `core.fsmonitor`.

const settings = (marker: string) =>
  `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch ${marker};false"\n`;
const head = { 'm/HEAD': 'ref: refs/heads/x\n' };
const objects = { 'm/objects/k/x': '' };
const refs = { 'm/refs/k/x': '' };

test.each([
  ['the settings last', {}, { ...head, ...objects, ...refs }, {}, 'one, two'],
  ['the settings first', {}, { ...head, ...objects, ...refs }, {}, 'two, one'],
  ['a HEAD of the last commit', head, { ...objects, ...refs }, {}, 'two, one'],
  ['a head in small letters', { 'm/head': 'x' }, { ...objects, ...refs }, {}, 'two, one'],
  ['the HEAD apart', objects, head, refs, 'together'],
  ['a commondir', {}, head, { 'm/commondir': '../n\n' }, 'together'],
])(
  '18.342: attack: merges join the parts of a repository: %s',
  async (_, committed, one, two, order) => {
    const [root, folder, copies] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
    const marker = join(temporaryFolder(), 'PWNED');
    const run = (place: string, ...words: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], {
        ...{ cwd: join(root, place), encoding: 'utf8' },
      });
    run('.', 'init', '-q');
    writeTree(root, { 'a.txt': 'a\n', ...committed });
    run('.', 'add', '-A');
    run('.', 'commit', '-q', '-m', 'first');
    const workspace = createWorkspace({ root });
    const worktrees = openWorktrees({ workspace, folder, copies, env: process.env });
    const [a, b] = [await worktrees.open('a'), await worktrees.open('b')];
    writeTree(a.root, one);
    writeTree(b.root, { 'm/config': settings(marker), 'b.txt': 'b\n', ...two });
    const [first, second] = order === 'two, one' ? [b, a] : [a, b];
    const merging = first.merge(workspace);
    if (order !== 'together') await merging;
    const reports = await Promise.all([merging, second.merge(workspace)]);
    const conflicts = reports.flatMap((report) => report.conflicts.map(({ message }) => message));
    expect(conflicts).toContain('it would make a folder a git repository here');
    expect(reports.flatMap(({ merged }) => merged)).toContain('b.txt');
    expect(run('m', 'rev-parse', '--absolute-git-dir').trim()).toBe(join(root, '.git'));
    run('m', 'status', '--short');
    expect(existsSync(marker)).toBe(false);
  },
);
