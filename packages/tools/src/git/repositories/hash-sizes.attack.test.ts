import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runScript, watchedCommand } from '../../testing/sandbox/watched-command.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { IndexReader, trackedPaths } from '../index-reader.ts';
import { isQuietGitConfig } from '../quiet-config.ts';

// A command writes settings and an index that the check reads with long hashes, and git with short hashes.

const git = (cwd: string, ...words: string[]) =>
  execFileSync('git', words, { cwd, stdio: 'pipe', encoding: 'utf8' });

/** Returns an index with the file `../../pwnd` for a reader of short hashes, and `okokok` for the other reader. */
function twoReadings(id: string): Buffer {
  const entry = Buffer.alloc(88);
  entry.writeUInt32BE(0o100644, 24);
  entry.write(id, 40, 'hex');
  entry.writeUInt16BE(10, 60);
  entry.write('../../pwnd', 62);
  entry.writeUInt16BE(6, 72);
  entry.write('okokok', 74);
  entry.write('NAME\0\0\0\x14', 80, 'latin1');
  const head = Buffer.from('DIRC\0\0\0\x02\0\0\0\x01');
  return Buffer.concat([head, entry, Buffer.from('NAME\0\0\0\0'), Buffer.alloc(32)]);
}

const settings = (version: string, format = 'sha256') =>
  `[core]\n\t${version}\n[extensions]\n\tobjectformat = ${format}\n`;
const versions = [
  ...['bare = false', 'repositoryformatversion = 0', 'repositoryformatversion = 2'],
  ...['repositoryformatversion = 01', 'repositoryformatversion = 0x1'],
  ...['repositoryformatversion = -1', 'repositoryformatversion = 1k'],
];

test('18.1117: attack: git checkout writes a file of an index with two readings', async () => {
  const { root, notes } = await watchedCommand(
    (folder) => runScript(folder, 'mkdir -p a'),
    (folder) => {
      const work = join(folder, 'a/x');
      mkdirSync(work);
      git(work, 'init', '-q');
      writeFileSync(join(work, 'file'), 'pwned');
      const id = git(work, 'hash-object', '-w', 'file').trim();
      writeFileSync(join(work, '.git/index'), twoReadings(id));
      writeFileSync(join(work, '.git/config'), settings('bare = false'));
    },
  );
  try {
    git(join(root, 'a/x'), 'checkout', '.');
  } catch {
    // The folder is no repository any more.
  }
  expect(existsSync(join(root, 'pwnd')), notes).toBe(false);
  expect(notes).toContain('The sandbox renamed .git');
});

test.for(versions)('18.1117: attack: a command asks for long hashes with %s', (version) => {
  const own = join(temporaryFolder(), '.git');
  mkdirSync(own);
  writeFileSync(join(own, 'config'), settings(version));
  writeFileSync(
    join(own, 'index'),
    Buffer.concat([Buffer.from('DIRC\0\0\0\x02'), Buffer.alloc(36)]),
  );
  expect(new IndexReader().read(own).submodules).toBeUndefined();
  expect(trackedPaths(own)).toBeUndefined();
  const options = { isWorktree: () => false, isPartial: true };
  expect(isQuietGitConfig(settings(version), options)).toBe(false);
});

test.for([
  'objectformat = sha1',
  'refstorage = files',
  'worktreeconfig = true',
  'partialclone = a',
])('18.1117: attack: settings have the extension %s without a version', (line) => {
  const options = { isWorktree: () => false, isPartial: true };
  const config = (version: string) => `[core]\n${version}[extensions]\n\t${line}\n`;
  expect(isQuietGitConfig(config(''), options)).toBe(false);
  expect(isQuietGitConfig(config('\trepositoryformatversion = 1\n'), options)).toBe(true);
});

test('18.1118: attack: an entry of an index hides bytes behind its name', () => {
  const root = temporaryFolder();
  runScript(root, 'git init -q; echo > abc; git add abc');
  const path = join(root, '.git/index');
  const index = readFileSync(path);
  const read = () => [
    trackedPaths(join(root, '.git')),
    new IndexReader().read(join(root, '.git')).submodules,
  ];
  // The hash at the end can be zero, see `index.skipHash`.
  index.fill(0, index.length - 20);
  writeFileSync(path, index);
  expect(read()).toEqual([['abc'], []]);
  for (let at = 12 + 62 + 3; at < 12 + 72; at++) {
    const changed = Buffer.from(index);
    changed[at] = 1;
    writeFileSync(path, changed);
    expect([at, ...read()]).toEqual([at, undefined, undefined]);
  }
});

test('18.1117: the settings that git writes for extensions stay', async () => {
  const who = '-c user.name=a -c user.email=a@b';
  const { notes } = await watchedCommand(
    (folder) => runScript(folder, 'git init -q'),
    (folder) =>
      runScript(
        folder,
        `set -e; for format in sha1 sha256; do
          git init -q --object-format=$format $format; cd $format; echo > a; git add a; git ${who} commit -q -m x
          git sparse-checkout init --cone; git sparse-checkout disable; rm -f .git/config.worktree; cd ..; git clone -q $format near-$format; done`,
      ),
  );
  expect(notes).toBe('');
});
