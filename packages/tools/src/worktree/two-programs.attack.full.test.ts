import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace, type Workspace } from '../workspace/workspace.ts';
import { openWorktrees } from './worktrees.ts';

// Two programs work in one folder. Each program merges one part of a repository. Each merge finds that its part
// alone is harmless, and then writes the part. If both merges run at the same time, `git status` runs the program
// of `core.fsmonitor`.

const settings = (marker: string) =>
  `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch ${marker};false"\n`;

function repository(files: Readonly<Record<string, string>>) {
  const [root, folder, copies] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  const run = (place: string, ...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...words], {
      ...{ cwd: join(root, place), encoding: 'utf8' },
    });
  run('.', 'init', '-q');
  writeTree(root, files);
  run('.', 'add', '-A');
  run('.', 'commit', '-q', '-m', 'first');
  return { root, folder, copies, run };
}

/** Starts a program that creates a file in a worktree. The program merges it after it has read a line. */
async function startMerger(
  { root, folder, copies }: ReturnType<typeof repository>,
  path: string,
): Promise<() => Promise<string>> {
  const module = new URL('../index.ts', import.meta.url).href;
  const script = `
    const { createWorkspace, openWorktrees } = await import(${JSON.stringify(module)});
    const { once } = await import('node:events');
    const workspace = createWorkspace({ root: ${JSON.stringify(root)} });
    const options = ${JSON.stringify({ folder, copies })};
    const worktrees = openWorktrees({ ...options, workspace, env: process.env });
    const worktree = await worktrees.open('other');
    await createWorkspace({ root: worktree.root }).write(${JSON.stringify(path)}, Buffer.from(''));
    console.log('ready');
    await once(process.stdin, 'data');
    console.log(JSON.stringify(await worktree.merge(workspace)));
    process.exit();`;
  const words = ['--conditions=@millrace/source', '--input-type=module', '-e', script];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  return async () => {
    const report = once(lines, 'line');
    child.stdin.write('go\n');
    return String((await report)[0]);
  };
}

/** Returns a workspace that calls a function before each write. */
function beforeWrites(workspace: Workspace, before: () => Promise<void>): Workspace {
  return {
    ...workspace,
    boundTo: (judged, basis) => beforeWrites(workspace.boundTo(judged, basis), before),
    write: async (...given) => {
      await before();
      return workspace.write(...given);
    },
  };
}

/** Does more work than one merge: creates several worktrees of a different repository, and removes them. */
async function workElsewhere(): Promise<void> {
  const { root, folder, copies } = repository({ 'a.txt': 'a\n' });
  const workspace = createWorkspace({ root });
  const worktrees = openWorktrees({ workspace, folder, copies, env: process.env });
  for (const id of ['a', 'b']) {
    const worktree = await worktrees.open(id);
    await worktree.discard();
    worktree.release();
  }
}

test('18.430: attack: merges of two programs join the parts of a repository', async () => {
  const marker = join(temporaryFolder(), 'PWNED');
  const at = repository({ 'm/HEAD': 'ref: refs/heads/x\n', 'm/config': settings(marker) });
  const { root, folder, copies, run } = at;
  const mergeOther = await startMerger(at, 'm/refs/x');
  const workspace = createWorkspace({ root });
  const worktrees = openWorktrees({ workspace, folder, copies, env: process.env });
  const own = await worktrees.open('own');
  writeTree(own.root, { 'm/objects/x': '' });
  let other: Promise<string> | undefined;
  const report = await own.merge(
    beforeWrites(workspace, async () => {
      other ??= mergeOther();
      await Promise.race([other, workElsewhere()]);
    }),
  );
  expect(report.merged).toEqual(['m/objects/x']);
  expect(JSON.parse((await other) ?? '')).toMatchObject({
    conflicts: [{ path: 'm/refs/x', message: 'it would make a folder a git repository here' }],
  });
  expect(run('m', 'rev-parse', '--absolute-git-dir').trim()).toBe(join(root, '.git'));
  run('m', 'status', '--short');
  expect(existsSync(marker)).toBe(false);
});
