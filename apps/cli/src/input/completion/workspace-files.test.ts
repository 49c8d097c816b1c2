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
  test('are what .gitignore leaves, in a folder that is no repository', async () => {
    const files = await workspaceFiles({ cwd: workspace(...tree), env: env() });
    expect(files.toSorted()).toEqual(expected);
  });

  test('are the same in a repository, with what was not added yet and without what was deleted', async () => {
    const cwd = workspace(...tree, 'gone.ts');
    git(cwd, 'init');
    git(cwd, 'add', 'src/main.ts', 'gone.ts');
    rmSync(join(cwd, 'gone.ts'));
    expect((await workspaceFiles({ cwd, env: env() })).toSorted()).toEqual(expected);
    expect(await workspaceFiles({ cwd: join(cwd, 'src'), env: env() })).toEqual(['main.ts']);
  });

  test('are the same where there is no git', async () => {
    const cwd = workspace(...tree);
    git(cwd, 'init');
    const without = { ...env(), PATH: folder() };
    expect((await workspaceFiles({ cwd, env: without })).toSorted()).toEqual(expected);
  });

  test('are listed without running what a repository names', async () => {
    const cwd = workspace('a.ts');
    git(cwd, 'init');
    const trap = join(cwd, 'trap.sh');
    writeFileSync(trap, `#!/bin/sh\ntouch "${join(folder(), 'sprung')}"\n`, { mode: 0o755 });
    git(cwd, 'config', 'core.fsmonitor', trap);
    expect((await workspaceFiles({ cwd, env: env() })).toSorted()).toEqual(['a.ts', 'trap.sh']);
    expect(await workspaceFiles({ cwd: folder(), env: env() })).not.toContain('sprung');
  });

  test('are bounded, in a repository and outside of one', async () => {
    const cwd = workspace(...Array.from({ length: 30 }, (_, index) => `f${index}`));
    expect(await workspaceFiles({ cwd, env: env(), maxPaths: 10 })).toHaveLength(10);
    git(cwd, 'init');
    expect(await workspaceFiles({ cwd, env: env(), maxPaths: 10 })).toHaveLength(10);
  });

  test('of an empty folder are none', async () => {
    const cwd = workspace('x');
    rmSync(join(cwd, 'x'));
    expect(await workspaceFiles({ cwd, env: env() })).toEqual([]);
  });
});

describe('a list of files', () => {
  function listed(...answers: readonly (readonly string[] | Error)[]) {
    const clock = new TestClock();
    const told: (readonly string[])[] = [];
    let asked = 0;
    const list = async () => {
      const answer = answers[asked++] ?? [];
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const files = new FileList({ list, clock, onChange: (now) => told.push(now), maxAgeMs: 1000 });
    return { clock, told, files, asked: () => asked };
  }

  test('is made when first wanted, once for all who want it, and again when it is old', async () => {
    const { clock, told, files, asked } = listed(['a'], ['a', 'b']);
    await Promise.all([files.refresh(), files.refresh()]);
    await files.refresh();
    expect([files.files, asked()]).toEqual([['a'], 1]);
    clock.jump(1000);
    await files.refresh();
    expect([files.files, asked(), told]).toEqual([['a', 'b'], 2, [['a'], ['a', 'b']]]);
  });

  test('tells nobody when nothing changed, and stays what it was when it cannot be made', async () => {
    const { clock, told, files } = listed(['a'], ['a'], new Error('no'));
    for (let round = 0; round < 3; round++) {
      await files.refresh();
      clock.jump(1000);
    }
    expect([files.files, told]).toEqual([['a'], [['a']]]);
  });

  test('tells nothing once it is closed, and ends what is under way', async () => {
    const told: unknown[] = [];
    let stopped = false;
    const files = new FileList({
      list: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped = true;
            reject(signal.reason);
          });
        }),
      onChange: (now) => told.push(now),
    });
    const done = files.refresh();
    files.close();
    await done;
    await files.refresh();
    expect([stopped, told]).toEqual([true, []]);
  });
});
