import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { earlierState } from './earlier-state.ts';
import { gitFolderSearch } from './inner-git-folders.ts';
import { harmlessRepositories } from './judge-repositories.ts';
import { renameNewRepositories, watchRepositories } from './new-repositories.ts';
import { PackageRepositories } from './package-repositories.ts';
import { RepositorySearch } from './repository-search.ts';

// A command maps the index into its memory, and changes it there. Then the size and the ctime of the file stay, so
// earlier results of the checks look valid. In the memory of a tmpfs, the ctime never changes.

/** An index with one file. */
function indexOf(name: string): Buffer {
  const head = Buffer.from('DIRC\0\0\0\x02\0\0\0\x01');
  const fixed = Buffer.alloc(62);
  fixed.writeUInt32BE(0o100755, 24);
  fixed.fill(0x11, 40, 60);
  fixed.writeUInt16BE(name.length, 60);
  const end = Buffer.alloc(8 - ((62 + name.length) % 8));
  const body = Buffer.concat([head, fixed, Buffer.from(name), end]);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

const [harmless, hostile] = ['-git/hooks/a', '.git/hooks/a'].map(indexOf) as [Buffer, Buffer];

const program = `
import mmap, os, sys
index = os.open('.git/index', os.O_RDWR)
mapped = mmap.mmap(index, 0)
if 'writes first' in sys.argv: mapped[0:1] = mapped[0:1]
else: mapped[0]
print('mapped', flush=True)
sys.stdin.read(1)
mapped[:] = bytes.fromhex(sys.argv[1])
os._exit(0)
`;

const inMemory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

test.for([
  ['while a check runs', tmpdir(), 'writes first'],
  ['in a tmpfs', inMemory, 'only reads first'],
] as const)(
  '18.1261: attack: a command changes the index through its memory %s',
  async ([, parent, how]) => {
    const root = mkdtempSync(join(parent, 'millrace-test-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    execFileSync('git', ['init', '-q'], { cwd: root });
    writeFileSync(join(root, '.git/index'), harmless);
    const search = new RepositorySearch();
    // The checks take place a minute later, when the index counts as unchanged for a while.
    const now = vi
      .spyOn(Date, 'now')
      .mockImplementation(() => Math.floor(performance.timeOrigin) + 1e9);
    onTestFinished(() => now.mockRestore());
    const before = { root, search, known: search.find(root), guarded: [] };
    const about = { ...before, harmless: harmlessRepositories(before), network: false };
    const watch = watchRepositories({
      ...about,
      changesGit: true,
      packages: new PackageRepositories(search),
    });
    await watch.ready;
    const words = ['-c', program, hostile.toString('hex'), how];
    const command = spawn('python3', words, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
    await once(command.stdout, 'data');
    expect(search.readIndex(join(root, '.git')).submodules).toEqual([]);
    const ended = once(command, 'close');
    command.stdin.end('x');
    await ended;
    expect(readFileSync(join(root, '.git/index'))).toEqual(hostile);
    expect((await watch.finish()).join()).toContain('its index cannot be checked');
    expect(existsSync(join(root, '.git/index'))).toBe(false);
  },
);

test('18.1261: the paths of an index are read again only if its content changed', () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  execFileSync('git', ['init', '-q'], { cwd: root });
  const git = join(root, '.git');
  writeFileSync(join(git, 'index'), harmless);
  const search = new RepositorySearch();
  const first = search.readIndex(git);
  search.forgetIndexes();

  expect(search.readIndex(git).submodules).toBe(first.submodules);
  writeFileSync(join(git, 'index'), indexOf('-git/hooks/b'));
  expect(search.readIndex(git).stamp).not.toBe(first.stamp);
});

test('18.1261: attack: a command grows the index until no check can compare it', async () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  execFileSync('git', ['init', '-q'], { cwd: root });
  writeFileSync(join(root, '.git/index'), harmless);
  const search = new RepositorySearch();
  const before = { root, search, known: search.find(root), guarded: [] };
  const about = { ...before, harmless: harmlessRepositories(before), network: false };
  const watch = watchRepositories({
    ...about,
    changesGit: true,
    packages: new PackageRepositories(search),
  });
  await watch.ready;
  truncateSync(join(root, '.git/index'), 300_000_000);
  expect((await watch.finish()).join()).toContain('its index cannot be checked');
  // Before a command, such an index cannot be protected.
  writeFileSync(join(root, '.git/index'), harmless);
  truncateSync(join(root, '.git/index'), 300_000_000);
  expect(() => earlierState({ ...before, inner: gitFolderSearch() })).toThrow('256 MiB');
  expect(renameNewRepositories()).toEqual([]);
});
