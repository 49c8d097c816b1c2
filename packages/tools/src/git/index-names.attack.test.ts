import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { endsByItself } from '../../../core/src/testing/ends-by-itself.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { findIndexRisk, sharedIndexName } from './git-index.ts';
import { IndexReader } from './index-reader.ts';

// A command writes an index that git never writes. Git writes the files of an index to any path.

const git = (cwd: string, ...words: string[]) =>
  execFileSync('git', words, { cwd, stdio: 'pipe', encoding: 'utf8' });

function entry(name: string, { mode = 0o100755, id = '1'.repeat(40) } = {}): Buffer {
  const bytes = Buffer.from(name);
  const fixed = Buffer.alloc(62);
  fixed.writeUInt32BE(mode, 24);
  fixed.write(id, 40, 'hex');
  fixed.writeUInt16BE(Math.min(bytes.length, 0xfff), 60);
  return Buffer.concat([fixed, bytes, Buffer.alloc(8 - ((62 + bytes.length) % 8))]);
}

function extension(name: string, content = Buffer.alloc(0)): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(content.length);
  return Buffer.concat([Buffer.from(name), size, content]);
}

function indexOf(entries: readonly Buffer[], ...extensions: readonly Buffer[]): Buffer {
  const head = Buffer.from('DIRC\0\0\0\x02\0\0\0\0');
  head.writeUInt32BE(entries.length, 8);
  const body = Buffer.concat([head, ...entries, ...extensions]);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

/** Returns the submodules in an index of a new repository. */
function read(index: Buffer, config?: string) {
  const own = join(temporaryFolder(), '.git');
  mkdirSync(own);
  writeFileSync(join(own, 'index'), index);
  if (config !== undefined) writeFileSync(join(own, 'config'), config);
  return endsByItself(() => new IndexReader().read(own).submodules);
}

test('18.960: attack: git checkout writes the files of an index outside of the folder', () => {
  const root = temporaryFolder();
  const work = join(root, 'work');
  mkdirSync(work);
  git(work, 'init', '-q');
  writeFileSync(join(work, 'a'), '#!/bin/sh\n');
  const id = git(work, 'hash-object', '-w', 'a').trim();
  const names = ['../profile', '.git/hooks/pre-commit', join(root, 'absolute')];
  const index = indexOf(names.toSorted().map((name) => entry(name, { id })));
  writeFileSync(join(work, '.git/index'), index);
  // This is what git does if nobody judges the index.
  git(work, 'checkout', '.');
  const written = ['profile', 'absolute', 'work/.git/hooks/pre-commit'];
  expect(written.filter((path) => existsSync(join(root, path)))).toEqual(written);
  expect(read(index)).toBeUndefined();
  expect(findIndexRisk(index)).toBe('the index is damaged');
});

test.for([
  ...['', '/', '/a', 'a/', 'a//b', '.', 'a/./b', '..', 'a/../../b', '.git', 'a/.GIT/config'],
  ...['git~1', 'a/GIT~2/b', 'a\0b', '.g\u200cit/config', '\ufeff.git/hooks/x', 'a/.git\u206f'],
])('18.960: attack: a command writes an index with the file %j', (name) => {
  const index = indexOf([entry(name)]);
  expect(read(index)).toBeUndefined();
  expect(findIndexRisk(index)).toBe('the index is damaged');
});

const plain = entry('a');
const token = (text: string) => Buffer.concat([Buffer.from('\0\0\0\x02'), Buffer.from(text)]);
test.for([
  ['an unusual mode', indexOf([entry('a', { mode: 0o100777 })])],
  ['high bits in its mode', indexOf([entry('a', { mode: 0x181a4 })])],
  ['a folder', indexOf([entry('a/', { mode: 0o040000 })], extension('sdir'))],
  ['an unknown extension', indexOf([plain], extension('ABCD'))],
  ['a mandatory extension', indexOf([plain], extension('abcd'))],
  ['an extension twice', indexOf([plain], extension('TREE'), extension('TREE'))],
  ['a part that does not exist', indexOf([plain], extension('link', Buffer.alloc(20, 7)))],
  ['a short name of a part', indexOf([plain], extension('link', Buffer.alloc(3)))],
  ['a token with spaces', indexOf([plain], extension('FSMN', token('a b\0')))],
  ['a wrong hash', Buffer.concat([indexOf([plain]).subarray(0, -1), Buffer.from('x')])],
  ['no hash', indexOf([plain]).subarray(0, -20)],
  ['nothing in it', Buffer.alloc(0)],
] as const)('18.961: attack: a command writes an index with %s', ([, index]) => {
  expect(read(index)).toBeUndefined();
  expect(findIndexRisk(index)).toBeDefined();
});

test('18.962: attack: a very large index does not keep the process busy', () => {
  const head = (count: number) => {
    const bytes = Buffer.from('DIRC\0\0\0\x02\0\0\0\0');
    bytes.writeUInt32BE(count, 8);
    return bytes;
  };
  const links = 'link'.repeat(8_000_000);
  for (const rest of [links, `TREE\0\0\0\0${links}`, 'TREE\0\0\0\0'.repeat(4_000_000)])
    for (const count of [0, 1, 0xffffffff]) {
      const index = Buffer.concat([head(count), Buffer.from(rest), Buffer.alloc(20)]);
      expect(read(index)).toBeUndefined();
    }
});

test('18.961: the indexes that git writes can be read', () => {
  const root = temporaryFolder();
  git(root, 'init', '-q');
  for (const name of ['a b', 'a.git/c', 'git~a', '\u00e9/.gitignore', 'link', 'Icon\r', '...']) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), 'a');
  }
  const submodules = () => new IndexReader().read(join(root, '.git')).submodules;
  git(root, 'add', '-A');
  expect(submodules()).toEqual([]);
  for (const words of [
    ['-c', 'index.skipHash=true', 'update-index', '--force-write-index'],
    ['-c', 'core.untrackedCache=true', 'status'],
    ['update-index', '--index-version=4'],
    ['update-index', '--split-index'],
    ['update-index', '--chmod=+x', 'link'],
  ]) {
    git(root, ...words);
    expect([words, submodules()]).toEqual([words, []]);
  }
  expect(sharedIndexName(readFileSync(join(root, '.git/index')), 20)).toContain('sharedindex.');
  git(root, 'update-index', '--no-split-index', '--index-version=2');
  const folded = indexOf([plain, entry('b/', { mode: 0o040000 })], extension('sdir'));
  expect(read(folded, '[index]\n\tsparse = true\n')).toEqual([]);
});
