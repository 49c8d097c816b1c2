import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TestClock } from '@millrace/log/suite';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { FileList, workspaceFiles } from './workspace-files.ts';

const folder = temporaryFolder('files');
let count = 0;

/** Creates a folder with these files. */
function workspace(...paths: readonly string[]): string {
  const root = join(folder(), `${++count}`);
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), path.endsWith('.gitignore') ? 'ignored/\n*.log\n' : 'x');
  }
  return root;
}

// Ignores the git settings of the machine, and repositories above the folder.
const env = () => ({
  PATH: process.env['PATH'],
  HOME: folder(),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CEILING_DIRECTORIES: folder(),
});

const tree = [
  '.gitignore',
  'a b.txt',
  'src/main.ts',
  'src/debug.log',
  'ignored/x.ts',
  '.hidden/y',
  'ünï.md',
];
const expected = ['.gitignore', '.hidden/y', 'a b.txt', 'src/main.ts', 'ünï.md'];

function git(cwd: string, ...args: readonly string[]): void {
  execFileSync('git', args, { cwd, env: env(), stdio: 'ignore' });
}

describe('the files of a workspace', () => {
  test('respect .gitignore in a folder that is not a repository', async () => {
    const files = await workspaceFiles({ cwd: workspace(...tree), env: env() });
    expect(files.toSorted()).toEqual(expected);
  });

  test('are the same in a repository, with untracked and without deleted files', async () => {
    const cwd = workspace(...tree, 'gone.ts');
    git(cwd, 'init');
    git(cwd, 'add', 'src/main.ts', 'gone.ts');
    rmSync(join(cwd, 'gone.ts'));
    expect((await workspaceFiles({ cwd, env: env() })).toSorted()).toEqual(expected);
    expect(await workspaceFiles({ cwd: join(cwd, 'src'), env: env() })).toEqual(['main.ts']);
  });

  test('are the same without git', async () => {
    const cwd = workspace(...tree);
    git(cwd, 'init');
    const without = { ...env(), PATH: folder() };
    expect((await workspaceFiles({ cwd, env: without })).toSorted()).toEqual(expected);
  });

  test('are listed without running programs that the repository configures', async () => {
    const cwd = workspace('a.ts');
    git(cwd, 'init');
    const trap = join(cwd, 'trap.sh');
    writeFileSync(trap, `#!/bin/sh\ntouch "${join(folder(), 'sprung')}"\n`, { mode: 0o755 });
    git(cwd, 'config', 'core.fsmonitor', trap);
    expect((await workspaceFiles({ cwd, env: env() })).toSorted()).toEqual(['a.ts', 'trap.sh']);
    expect(await workspaceFiles({ cwd: folder(), env: env() })).not.toContain('sprung');
  });

  test('are limited, inside and outside a repository', async () => {
    const cwd = workspace(...Array.from({ length: 30 }, (_, index) => `f${index}`));
    expect(await workspaceFiles({ cwd, env: env(), maxPaths: 10 })).toHaveLength(10);
    git(cwd, 'init');
    expect(await workspaceFiles({ cwd, env: env(), maxPaths: 10 })).toHaveLength(10);
  });

  test('are none in an empty folder', async () => {
    const cwd = workspace('x');
    rmSync(join(cwd, 'x'));
    expect(await workspaceFiles({ cwd, env: env() })).toEqual([]);
  });
});

describe('a list of files', () => {
  function listed(...answers: readonly (readonly string[] | Error)[]) {
    const clock = new TestClock();
    const changes: (readonly string[])[] = [];
    let listings = 0;
    const list = async () => {
      const answer = answers[listings++] ?? [];
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const files = new FileList({
      list,
      clock,
      onChange: (now) => changes.push(now),
      maxAgeMs: 1000,
    });
    return { clock, changes, files, listings: () => listings };
  }

  test('is read on first use, once for parallel calls, and again when it is old', async () => {
    const { clock, changes, files, listings } = listed(['a'], ['a', 'b']);
    await Promise.all([files.refresh(), files.refresh()]);
    await files.refresh();
    expect([files.files, listings()]).toEqual([['a'], 1]);
    clock.jump(1000);
    await files.refresh();
    expect([files.files, listings(), changes]).toEqual([['a', 'b'], 2, [['a'], ['a', 'b']]]);
  });

  test('does not notify without a change, and keeps the old list on failure', async () => {
    const { clock, changes, files } = listed(['a'], ['a'], new Error('no'));
    for (let round = 0; round < 3; round++) {
      await files.refresh();
      clock.jump(1000);
    }
    expect([files.files, changes]).toEqual([['a'], [['a']]]);
  });

  test('does not notify after close, and aborts a running listing', async () => {
    const changes: unknown[] = [];
    let stopped = false;
    const files = new FileList({
      list: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped = true;
            reject(signal.reason);
          });
        }),
      onChange: (now) => changes.push(now),
    });
    const done = files.refresh();
    files.close();
    await done;
    await files.refresh();
    expect([stopped, changes]).toEqual([true, []]);
  });
});
