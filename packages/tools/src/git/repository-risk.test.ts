import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { isHarmlessGitConfig } from './git-config.ts';
import { findIndexRisk } from './git-index.ts';
import { findRepositoryRisk } from './repository-risk.ts';

const env = { PATH: process.env['PATH'], HOME: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
const commit = '7fd1a60b01f91b314f59955a4e4d4e80d8edf11d';
const blob = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';

function repository(...settings: readonly string[]) {
  const root = temporaryFolder();
  const git = (words: readonly string[], input = '') => {
    const config = settings.flatMap((setting) => ['-c', setting]);
    return execFileSync('git', [...config, ...words], { cwd: root, env, input, encoding: 'utf8' });
  };
  git(['init', '-q']);
  return { root, git, index: join(root, '.git/index') };
}

test.each([
  ['', true],
  ['[core]\n\tbare = false\n# a word\n[remote "o"]\n\turl = x\n', true],
  ['[core] fsmonitor = x', false],
  ['[core]\nbare = false \\\nfsmonitor = x', false],
  ['[CORE]\nFSMONITOR = x', false],
  ['bare = false', false],
  ['[remote "o\\"]"]\nurl = x', false],
  ['[core "x"]\nbare', true],
])('the configuration %j is harmless: %s', (config, is) => {
  expect(isHarmlessGitConfig(config)).toBe(is);
});

describe('a repository', () => {
  test('that was just created or has files is no risk', async () => {
    const { root, git } = repository();
    expect(await findRepositoryRisk(root)).toBeUndefined();
    writeTree(root, { 'a.txt': 'a', 'src/b.ts': 'b' });
    git(['add', '.']);
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    git([...who, 'commit', '-qm', 'one']);
    git(['gc', '-q']);
    expect(await findRepositoryRisk(root)).toBeUndefined();
    git(['checkout', '-q', '--detach']);
    expect(await findRepositoryRisk(root)).toBeUndefined();
  });

  test.each([
    ['ref: refs/heads/a-b_c.d/e\n', true],
    [`${'0'.repeat(40)}\n`, true],
    ['', false],
    ['ref: refs/\n', false],
    ['ref: refs/heads/a b\n', false],
    ['ref: refs/../config\n', false],
    ['ref: refs/heads/a\nmore\n', false],
    ['ref: refs/heads/a\u0000\n', false],
    [`${'0'.repeat(39)}\n`, false],
    [`ref: refs/heads/${'a'.repeat(2000)}\n`, false],
  ])('with %j as HEAD is accepted: %s', async (head, is) => {
    const { root } = repository();
    writeFileSync(join(root, '.git/HEAD'), head);
    expect((await findRepositoryRisk(root)) === undefined).toBe(is);
  });

  test.each(['HEAD', 'config', 'index', 'packed-refs', 'rebase-merge/done', 'info/attributes'])(
    'with a FIFO as .git/%s is a risk, and nothing waits for it',
    async (name) => {
      const { root } = repository();
      const path = join(root, '.git', name);
      mkdirSync(join(path, '..'), { recursive: true });
      rmSync(path, { force: true });
      execFileSync('mkfifo', [path]);
      expect(await findRepositoryRisk(root)).toMatch(name);
    },
  );

  test.each(['objects', 'refs'])(
    'with a folder %s that the user cannot enter is a risk',
    async (name) => {
      const { root } = repository();
      chmodSync(join(root, '.git', name), 0o600);
      expect(riskForUser(root)).toMatch(/^\.git cannot be checked \(EACCES\)/);
    },
  );
});

/** Checks the repository as an ordinary user, because root can access everything. */
function riskForUser(root: string): string {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync('chown', ['-R', '65534:65534', root]);
  const module = new URL('repository-risk.ts', import.meta.url).href;
  const script = `const { findRepositoryRisk } = await import(${JSON.stringify(module)});
    console.log(await findRepositoryRisk(${JSON.stringify(root)}));`;
  const words = ['--input-type=module', '-e', script];
  const user = isRoot ? { uid: 65534, gid: 65534 } : {};
  return execFileSync(process.execPath, words, { cwd: '/', env, encoding: 'utf8', ...user });
}

describe('the index', () => {
  const name = fc
    .array(fc.constantFrom('a', 'b', 'long-name-'.repeat(12), 'ü', '-', ' '), {
      minLength: 1,
      maxLength: 6,
    })
    .map((parts) => `f${parts.join('')}`);
  const entries = fc.record({
    names: fc.uniqueArray(name, { minLength: 1, maxLength: 12 }),
    submodule: fc.option(fc.nat(11), { nil: undefined }),
    version: fc.constantFrom('2', '3', '4'),
    isIntent: fc.boolean(),
  });

  test('of any version is a risk if it has a submodule, and only then', async () => {
    await fc.assert(
      fc.asyncProperty(entries, async ({ names, submodule, version, isIntent }) => {
        const { root, git, index } = repository();
        const lines = names.map((path, at) =>
          at === submodule ? `160000 ${commit}\t${path}` : `100644 ${blob}\t${path}`,
        );
        git(['update-index', '--index-version', version, '--index-info'], `${lines.join('\n')}\n`);
        // Creates an entry with extended flags, which exist in version 3.
        writeFileSync(join(root, 'intent'), '');
        if (isIntent) git(['add', '--intent-to-add', 'intent']);
        const hasSubmodule = submodule !== undefined && submodule < names.length;
        expect(findIndexRisk(readFileSync(index)) !== undefined).toBe(hasSubmodule);
      }),
      { numRuns: runs(100) },
    );
  });

  test('in which git finds a submodule after random changes of its bytes is a risk', async () => {
    const { root, git, index } = repository();
    const lines = ['a', 'b/c', 'b/d', 'e'].map((path) => `100644 ${blob}\t${path}`);
    const originals = ['2', '4'].map((version) => {
      rmSync(index, { force: true });
      git(['update-index', '--index-version', version, '--index-info'], `${lines.join('\n')}\n`);
      return readFileSync(index);
    });
    const change = fc.record({
      at: fc.nat(400),
      bytes: fc.oneof(
        fc.constant([0, 0, 0xe0, 0]),
        fc.array(fc.nat(255), { minLength: 1, maxLength: 4 }),
      ),
    });
    let submodules = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...originals),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        async (original, changes) => {
          const bytes = Buffer.from(original);
          for (const { at, bytes: some } of changes) bytes.set(some, at % (bytes.length - 24));
          writeFileSync(index, bytes);
          const listed = spawnSync('git', ['ls-files', '-s'], { cwd: root, env, encoding: 'utf8' });
          if (!/^160000 /m.test(listed.stdout)) return;
          submodules++;
          expect(findIndexRisk(bytes)).toBeDefined();
        },
      ),
      {
        numRuns: runs(500),
        examples: [[originals[0] ?? Buffer.alloc(0), [{ at: 36, bytes: [0, 0, 0xe0, 0] }]]],
      },
    );
    expect(submodules).toBeGreaterThan(0);
  });

  test('with a table of blocks is a risk if a block does not start at an entry', () => {
    const { git, index } = repository('index.threads=2');
    const lines = Array.from({ length: 20_001 }, (_, at) => `100644 ${blob}\tf${at}`);
    git(['update-index', '--index-info'], `${lines.join('\n')}\n`);
    const bytes = readFileSync(index);
    expect(findIndexRisk(bytes)).toBeUndefined();
    const table = bytes.lastIndexOf('IEOT');
    expect(table).toBeGreaterThan(0);
    const second = table + 8 + 4 + 8;
    bytes.writeUInt32BE(bytes.readUInt32BE(second) + 8, second);
    expect(findIndexRisk(bytes)).toMatch('second list');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['too few bytes', Buffer.from('DIRC\0\0\0\u0002\0\0\0\u0005')],
    ['another format', Buffer.alloc(64, 'x')],
  ])('with %s is a risk', (_name, bytes) => {
    expect(findIndexRisk(bytes)).toBeDefined();
  });
});
