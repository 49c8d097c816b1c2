import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { isFull, runs } from '../../../../core/src/testing/runs.ts';
import { listFiles } from '../../testing/list-files.ts';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const below = async (...segments: readonly string[]) => (await listFiles(root, segments)).paths;

describe('a walk', () => {
  test('yields the files by name, folder by folder, including hidden ones', async () => {
    writeTree(root, { 'b.txt': '', 'a/2': '', 'a/10': '', '.hidden': '', 'a.txt': '', 'Z/z': '' });
    expect(await below()).toEqual(['.hidden', 'Z/z', 'a/10', 'a/2', 'a.txt', 'b.txt']);
  });

  test('neither follows nor yields links', async () => {
    writeTree(root, { 'real/file': '' });
    symlinkSync(root, join(root, 'real/up'));
    symlinkSync('/etc', join(root, 'etc'));
    symlinkSync('real/file', join(root, 'link'));
    expect(await below()).toEqual(['real/file']);
  });

  test('yields no FIFO', async () => {
    writeTree(root, { file: '' });
    execFileSync('mkfifo', [join(root, 'fifo')]);
    expect(await below()).toEqual(['file']);
  });

  test('leaves out .git, whether it is a folder or a file', async () => {
    writeTree(root, {
      '.git/config': '',
      'sub/.git': 'gitdir: nowhere',
      'sub/a': '',
      '.github/b': '',
    });
    expect(await below()).toEqual(['.github/b', 'sub/a']);
  });

  test('ends at the maximum number of entries, and reports it', async () => {
    writeTree(root, Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, ''])));
    const { paths, report } = await listFiles(root, [], { maxEntries: 20 });
    expect(paths).toHaveLength(20);
    expect(report).toMatchObject({ entries: 20, cut: 'entries' });
  });

  test('is complete if the maximum is just enough', async () => {
    writeTree(root, { a: '', b: '', c: '' });
    const { paths, report } = await listFiles(root, [], { maxEntries: 3 });
    expect(paths).toEqual(['a', 'b', 'c']);
    expect(report.cut).toBeUndefined();
  });

  test('ends at the maximum depth, and reports it', async () => {
    writeTree(root, { '1/2/3/deep': '', '1/2/file': '' });
    const { paths, report } = await listFiles(root, [], { maxDepth: 2 });
    expect(paths).toEqual(['1/2/file']);
    expect(report.cut).toBe('depth');
  });

  test('ends when its signal aborts', async () => {
    writeTree(root, { a: '', b: '', 'c/d': '' });
    const { paths, report } = await listFiles(root, [], { stopAfter: 2 });
    expect(paths).toEqual(['a', 'b']);
    expect(report.cut).toBe('stopped');
  });

  test('skips unreadable folders, and counts them', () => {
    writeTree(root, { 'closed/secret': '', open: '' });
    chmodSync(root, 0o755);
    chmodSync(join(root, 'closed'), 0o000);
    const program = fileURLToPath(new URL('../../testing/list-files.ts', import.meta.url));
    const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const options = { ...nobody, encoding: 'utf8' } as const;
    const flags = ['--conditions=@millrace/source'];
    const { stdout, stderr } = spawnSync(process.execPath, [...flags, program, root], options);
    chmodSync(join(root, 'closed'), 0o755);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ paths: ['open'], report: { unreadable: 1 } });
  });
});

describe('an ignored path', () => {
  test('is defined by .gitignore files, each for its own folder', async () => {
    writeTree(root, {
      '.gitignore': '*.log\n/only-here\nbuild/\n# comment\n\n',
      'a.log': '',
      'only-here': '',
      'sub/only-here': '',
      'build/x': '',
      'sub/build': 'a file, not a folder',
      'sub/.gitignore': 'inner.txt\n/top.txt\ndeep/er.txt',
      'sub/inner.txt': '',
      'sub/x/inner.txt': '',
      'sub/top.txt': '',
      'sub/x/top.txt': '',
      'sub/deep/er.txt': '',
      'sub/x/deep/er.txt': '',
      'inner.txt': '',
    });
    expect(await below()).toEqual([
      '.gitignore',
      'inner.txt',
      'sub/.gitignore',
      'sub/build',
      'sub/only-here',
      'sub/x/deep/er.txt',
      'sub/x/top.txt',
    ]);
  });

  test('can be included again, also by a nested file, but not inside an ignored folder', async () => {
    writeTree(root, {
      '.gitignore': '*.log\n!keep.log\ndist/\n!dist/keep.txt\nout/',
      'keep.log': '',
      'other.log': '',
      'dist/keep.txt': '',
      'sub/.gitignore': '!*.log\n!out/',
      'sub/other.log': '',
      'sub/out/file.txt': '',
    });
    const visible = (await below()).filter((path) => !path.endsWith('.gitignore'));
    expect(visible).toEqual(['keep.log', 'sub/other.log', 'sub/out/file.txt']);
  });

  test('may be defined by .git/info/exclude, with lower precedence', async () => {
    writeTree(root, {
      '.git/info/exclude': '*.tmp\n*.bak',
      '.gitignore': '!keep.bak',
      'a.tmp': '',
      'a.bak': '',
      'keep.bak': '',
    });
    expect(await below()).toEqual(['.gitignore', 'keep.bak']);
  });

  test('may be defined by the shared repository of a linked worktree', async () => {
    writeTree(root, {
      'main/.git/info/exclude': '*.tmp',
      'main/.git/worktrees/w/commondir': '../..\n',
      'w/.git': 'gitdir: ../main/.git/worktrees/w\n',
      'w/a.tmp': '',
      'w/a.txt': '',
    });
    expect(await below('w')).toEqual(['w/a.txt']);
    expect((await listFiles(join(root, 'w'), [])).paths).toEqual(['a.txt']);
  });

  test('may be defined by the folders above, up to the top of the repository', async () => {
    writeTree(root, {
      '.git/HEAD': '',
      '.gitignore': '*.log\n/the/space/sub/x.txt',
      'the/.gitignore': '*.tmp',
      'the/space/sub/a.log': '',
      'the/space/sub/a.tmp': '',
      'the/space/sub/a.txt': '',
      'the/space/sub/x.txt': '',
    });
    expect((await listFiles(join(root, 'the/space'), ['sub'])).paths).toEqual(['sub/a.txt']);
  });

  test('is not defined above the root without a repository', async () => {
    writeTree(root, { '.gitignore': '*.txt', 'work/a.txt': '' });
    expect((await listFiles(join(root, 'work'), [])).paths).toEqual(['a.txt']);
  });

  test('is searched if it was named', async () => {
    writeTree(root, {
      '.gitignore': 'node_modules/\n*.js',
      'node_modules/p/index.js': '',
      'node_modules/p/.gitignore': 'own',
      'node_modules/p/own': '',
    });
    expect(await below('node_modules', 'p')).toEqual([
      'node_modules/p/.gitignore',
      'node_modules/p/index.js',
    ]);
  });

  test('depends on letter case, trailing blanks, a byte order mark and unusual folder names', async () => {
    writeTree(root, {
      '.gitignore': '\uFEFFname  \r\nUPPER\r\n/\n',
      name: '',
      upper: '',
      'odd [a]*! #/.gitignore': 'x\n/',
      'odd [a]*! #/x': '',
      'odd [a]*! #/y': '',
      'odd a! #/x': '',
    });
    const visible = (await below()).filter((path) => !path.endsWith('.gitignore'));
    expect(visible).toEqual(['odd [a]*! #/y', 'odd a! #/x', 'upper']);
  });

  test('is not defined by a link, a folder or a FIFO named .gitignore', async () => {
    writeTree(root, { rules: '*', 'a/file': '', 'b/file': '', 'c/file': '' });
    symlinkSync(join(root, 'rules'), join(root, 'a/.gitignore'));
    mkdirSync(join(root, 'b/.gitignore'));
    execFileSync('mkfifo', [join(root, 'c/.gitignore')]);
    expect(await below()).toEqual(['a/file', 'b/file', 'c/file', 'rules']);
  });
});

const hasGit = spawnSync('git', ['--version']).status === 0;

test.runIf(hasGit)('git lists the same files for any rules', async () => {
  const name = fc.constantFrom('a', 'b', 'ab', 'a.b', '.a', '[a]', 'a b');
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  const glob = fc.constantFrom('*', '**', 'a*', '*b', '?', '[ab]', '[!a]', '\\[a]', 'a.b', 'a b');
  const segment = fc.oneof(name, glob);
  const pattern = fc
    .tuple(
      fc.constantFrom('', '', '!', '!'),
      fc.constantFrom('', '', '/'),
      fc.array(segment, { minLength: 1, maxLength: 3 }),
      fc.constantFrom('', '', '/', ' '),
    )
    .map(([not, slash, segments, end]) => `${not}${slash}${segments.join('/')}${end}`);
  const rules = fc.array(pattern, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'));
  const folder = fc.oneof(
    fc.constant(''),
    path.map((each) => `${each}/`),
  );
  const tree = fc.tuple(
    fc.array(path, { minLength: 1, maxLength: 12 }),
    fc.array(fc.tuple(folder, rules), { minLength: 1, maxLength: 3 }),
    fc.option(rules, { nil: '' }),
  );
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  let ignored = 0;
  await fc.assert(
    fc.asyncProperty(tree, async ([paths, ignoreFiles, excludes]) => {
      const top = mkdtempSync(join(root, 'case-'));
      execFileSync('git', ['init', '-q', '--template='], { cwd: top, env });
      const wanted = [...paths, ...ignoreFiles.map(([at]) => `${at}.gitignore`)];
      // A name is a file or a folder, not both.
      const files = wanted.filter((one) => !wanted.some((other) => other.startsWith(`${one}/`)));
      writeTree(top, { '.git/info/exclude': excludes });
      writeTree(top, Object.fromEntries(files.map((each) => [each, ''])));
      for (const [at, text] of ignoreFiles) writeTree(top, { [`${at}.gitignore`]: text });
      const args = ['ls-files', '-z', '--others', '--exclude-standard'];
      const seen = execFileSync('git', args, { cwd: top, env, encoding: 'utf8' });
      const expected = seen.split('\0').filter((each) => each !== '');
      ignored += new Set(files).size - expected.length;
      const { paths: ours } = await listFiles(top, []);
      rmSync(top, { recursive: true });
      expect(ours.toSorted()).toEqual(expected.toSorted());
    }),
    { numRuns: runs(200) },
  );
  if (isFull) expect(ignored).toBeGreaterThan(100);
});
