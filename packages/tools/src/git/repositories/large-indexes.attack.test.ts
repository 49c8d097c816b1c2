import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { RepositorySearch } from './repository-search.ts';

// A command creates many repositories whose files are hard links to one large file. The check reads each of them.

/** An index of version 2 with this number of files. */
function indexOf(count: number): Buffer {
  const head = Buffer.from('DIRC\0\0\0\x02\0\0\0\0');
  head.writeUInt32BE(count, 8);
  const entry = Buffer.alloc(72);
  entry.writeUInt32BE(0o100644, 24);
  entry.writeUInt16BE(8, 60);
  entry.write('aaaaaaaa', 62);
  return Buffer.concat([head, ...Array.from({ length: count }, () => entry), Buffer.alloc(20)]);
}

function withRepositories(count: number, files: Readonly<Record<string, string | Buffer>>): string {
  const root = temporaryFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content);
  for (let at = 0; at < count; at++) {
    mkdirSync(join(root, `a${at}/.git`), { recursive: true });
    for (const name of Object.keys(files))
      linkSync(join(root, name), join(root, `a${at}/.git`, name));
  }
  return root;
}

test.for([
  ['indexes', { index: indexOf(200_000), config: '' }],
  ['settings', { index: indexOf(1), config: '[a]\nb=c\n'.repeat(120_000) }],
] as const)(
  '18.966: attack: a check reads only some of many repositories with large %s',
  ([, files]) => {
    const root = withRepositories(30, files);
    const search = new RepositorySearch();
    const read = () => {
      const all = Array.from({ length: 30 }, (_, at) => join(root, `a${at}/.git`));
      return all.filter((git) => search.readIndex(git).submodules !== undefined).length;
    };
    expect(search.survey(root).found).toHaveLength(30);
    // The search has read as much as one check can read. It remembers only files that have not changed recently.
    expect(read()).toBeLessThan(10);
    search.startCheck();
    const known = read();
    expect(known).toBeGreaterThan(5);
    expect(known).toBeLessThan(20);
  },
);

test('18.966: the indexes of usual repositories can be read', () => {
  const root = withRepositories(50, { index: indexOf(5000), config: '[a]\nb=c\n'.repeat(50) });
  const search = new RepositorySearch();
  const { found } = search.survey(root);
  const all = found.map(({ folder }) => search.readIndex(join(folder, '.git')).submodules);
  expect(all).toEqual(found.map(() => []));
});
