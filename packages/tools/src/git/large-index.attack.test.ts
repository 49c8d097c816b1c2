import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { findIndexRiskInSlices } from './git-index.ts';
import { findRepositoryRisk } from './repository-risk.ts';

// An unpacked archive contains a very large index. The process reads it before each question about git.

/** Returns an index of version 2 with this number of files. */
function indexOf(count: number): Buffer {
  const index = Buffer.alloc(12 + count * 72 + 20);
  index.write('DIRC\0\0\0\x02', 'latin1');
  index.writeUInt32BE(count, 8);
  for (let file = 0, at = 12; file < count; file++, at += 72) {
    index.writeUInt32BE(0o100644, at + 24);
    index.writeUInt16BE(8, at + 60);
    index.write(String(file).padStart(8, '0'), at + 62, 'latin1');
  }
  createHash('sha1')
    .update(index.subarray(0, -20))
    .digest()
    .copy(index, index.length - 20);
  return index;
}

test('18.1689: attack: a large index blocks other work of the process', async () => {
  const index = indexOf(400_000);
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  onTestFinished(() => clearImmediate(next));
  expect(await findIndexRiskInSlices(index)).toBeUndefined();
  // One break for 20,000 files, or more.
  expect(turns).toBeGreaterThan(20);
  index[index.length - 1] = (index.at(-1) ?? 0) ^ 1;
  expect(await findIndexRiskInSlices(index)).toBe('the index is damaged');
});

test('18.1689: a large index of a usual repository is no risk', async () => {
  const root = temporaryFolder();
  const config = '[core]\n\tbare = false\n';
  writeTree(root, { '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': config });
  writeTree(root, { '.git/objects/info/a': '', '.git/refs/heads/a': '' });
  writeFileSync(join(root, '.git/index'), indexOf(400_000));
  expect(await findRepositoryRisk(root)).toBeUndefined();
});
