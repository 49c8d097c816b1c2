import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runGit } from './run-git.ts';

// A repository contains a FIFO with the name of a file that git reads. Git waits until a program writes to the FIFO.

let root: string;
let log: string;
let PATH: string;
beforeEach(() => {
  [root, log] = [temporaryFolder(), join(temporaryFolder(), 'log')];
  writeTree(root, { 'a.txt': 'a' });
  execFileSync('git', ['init', '-q', root]);
  execFileSync('mkfifo', [join(root, '.gitignore')]);
  // This git writes its words to a file before it starts.
  const git = execFileSync('sh', ['-c', 'command -v git']).toString().trim();
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'git'), `#!/bin/sh\necho "$@" >> '${log}'\nexec '${git}' "$@"\n`);
  chmodSync(join(folder, 'git'), 0o755);
  PATH = [folder, process.env['PATH']].join(delimiter);
});
afterEach(() => void vi.unstubAllEnvs());

const starts = () =>
  (existsSync(log) ? readFileSync(log, 'utf8') : '').split('ls-files').length - 1;
const list = (more: object = {}) =>
  runGit(['ls-files', '--others', '--exclude-standard'], {
    ...{ cwd: root, env: { PATH }, timeoutMs: 300, ...more },
  });

test('18.1697: attack: a FIFO stops the list of files only once', async () => {
  const pauseMs = 3_600_000;
  expect(await list({ pauseMs })).toBeUndefined();
  expect(starts()).toBe(1);
  expect(await list({ pauseMs })).toBeUndefined();
  expect(await list({ pauseMs, cwd: join(root, '.git/..') })).toBeUndefined();
  expect(starts()).toBe(1);
  // Calls without a pause, and calls in other repositories, start git.
  expect((await list({ pauseMs: 0, signal: AbortSignal.abort() }))?.output).toBeUndefined();
  const other = temporaryFolder();
  execFileSync('git', ['init', '-q', other]);
  expect((await list({ pauseMs, cwd: other }))?.isCut).toBe(false);
});

test('18.1697: git starts again after the pause, and after a caller has stopped it', async () => {
  expect(await list({ pauseMs: 1, signal: AbortSignal.abort() })).toBeUndefined();
  const stopped = starts();
  execFileSync('rm', [join(root, '.gitignore')]);
  expect((await list({ pauseMs: 1 }))?.output.toString()).toBe('a.txt\n');
  expect(starts()).toBe(stopped + 1);
});

test('18.1698: attack: a FIFO blocks the decision about a command', async () => {
  vi.stubEnv('PATH', PATH);
  const rules = [{ tool: 'bash', command: 'git add', decision: 'allow' }] as const;
  expect(await commandRuling(root, 'git add a.txt', { rules })).toBe('ask');
  const before = starts();
  expect(before).toBeLessThanOrEqual(1);
  expect(await commandRuling(root, 'git add a.txt', { rules })).toBe('ask');
  expect(starts()).toBe(before);
});
