import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { openWorktrees } from './worktrees.ts';

test.each(['a.txt', 'new.txt'])(
  '18.360: attack: a link appears between the decision about a merge of %s and the merge',
  async (name) => {
    const [root, folder, copies] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
    const git = (...words: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], { cwd: root });
    git('init', '-q');
    writeTree(root, { 'dir/a.txt': 'a\n', 'tools/a.txt': 'a\n' });
    git('add', '-A');
    git('commit', '-q', '-m', 'first');
    const workspace = createWorkspace({ root });
    const worktree = await openWorktrees({
      ...{ workspace, folder, copies, env: process.env },
    }).open('task');
    writeTree(worktree.root, { [`dir/${name}`]: 'EVIL\n' });
    const judged: string[] = [];
    const { merged, conflicts } = await worktree.merge(workspace, {
      refusalOf: async (_, real) => {
        judged.push(real);
        // A command in the background exchanges the folder.
        renameSync(join(root, 'dir'), join(root, 'old'));
        symlinkSync('tools', join(root, 'dir'));
        return undefined;
      },
    });
    expect(judged).toEqual([join(workspace.root, 'dir', name)]);
    expect(merged).toEqual([]);
    expect(conflicts).toMatchObject([{ path: `dir/${name}` }]);
    expect(git('status', '--short', 'tools').toString()).toBe('');
    expect(readFileSync(join(root, 'tools/a.txt'), 'utf8')).toBe('a\n');
  },
);
