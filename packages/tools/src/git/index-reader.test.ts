import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { IndexReader } from './index-reader.ts';
import { TrackedFiles } from './repositories/tracked-files.ts';

// With threads, git also writes a table of the entries.
const threads = { GIT_TEST_INDEX_THREADS: '4' };
const isolated = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', ...threads };

describe.for(['sha1', 'sha256'] as const)('an index with hashes of %s', (format) => {
  test.for([2, 4])('of version %i has its submodules, also if it is split', (version) => {
    const root = temporaryFolder();
    const git = (...words: string[]) =>
      execFileSync('git', words, { cwd: root, env: { ...process.env, ...isolated } });
    git('init', '-q', `--object-format=${format}`);
    git('config', 'index.threads', '4');
    const read = () => new IndexReader().read(join(root, '.git')).submodules;
    expect(read()).toEqual([]);
    const hash = '1'.repeat(format === 'sha1' ? 40 : 64);
    for (let n = 0; n < 40; n++) writeFileSync(join(root, `file ${n}`), 'a');
    git('add', '-A');
    git('update-index', `--index-version=${version}`);
    expect(read()).toEqual([]);
    for (const path of ['lib/a', 'lib/ab'])
      git('update-index', '--add', '--cacheinfo', `160000,${hash},${path}`);
    expect(read()).toEqual(['lib/a', 'lib/ab']);
    expect(readFileSync(join(root, '.git/index')).includes('IEOT')).toBe(true);
    git('update-index', '--split-index');
    git('update-index', '--add', '--cacheinfo', `160000,${hash},z`);
    expect(new Set(read())).toEqual(new Set(['lib/a', 'lib/ab', 'z']));
    git('update-index', '--no-split-index');
    git('update-index', '--skip-worktree', 'file 7', 'file 9');
    const files = Array.from({ length: 40 }, (_, n) => `file ${n}`);
    const expected = files.filter((name) => !/[79]$/.test(name) || name.length > 6);
    const tracked = new TrackedFiles().below(root).filter((path) => path.startsWith('file'));
    expect(tracked.toSorted()).toEqual(expected.toSorted());
  });
});
