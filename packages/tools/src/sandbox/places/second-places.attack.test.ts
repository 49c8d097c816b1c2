import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../../testing/temporary-folder.ts';
import { parseMountTable } from './mount-table.ts';
import { withSecondPlaces } from './second-places.ts';

// A command reads a hidden path at a second place, because its file system is mounted twice. The folders of the
// test stand for the mounts.

const guarded = (path: string, guard: 'hidden' | 'read-only' | 'pinned') => [
  { path, guard, isFolder: true },
];

function places() {
  const folder = temporaryFolder();
  const [home, again, work] = ['home', 'mnt/wslg/my distro', 'work'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const files = { '.ssh/id': 'key', 'private/key.txt': 'key', 'vol/a': '' };
  writeTree(home, files);
  writeTree(again, files);
  mkdirSync(work);
  // The sandbox replaces /tmp, but not the folders that commands may change.
  const writable = [folder];
  // The disk is mounted first. A second mount at the same point covers the first one.
  const ids = new Map<string, number>();
  let last = 0;
  const line = (device: string, root: string, point: string) => {
    const parent = point === '/' ? 0 : (ids.get(point) ?? ids.get('/'));
    ids.set(point, ++last);
    return `${last} ${parent} ${device} ${root} ${point.replaceAll(' ', '\\040')} ro,relatime - ext4 /dev/sdc`;
  };
  return { folder, home, again, work, writable, line };
}

test('18.703: attack: a command reads a hidden folder at a second mount of the disk', () => {
  const { home, again, writable, line } = places();
  const mounts = [line('8:1', '/', '/'), line('8:1', home, again)].join('\n');
  const hide = [join(home, 'private/key.txt')];
  const found = withSecondPlaces(
    { guarded: guarded(join(home, '.ssh'), 'hidden'), hide },
    writable,
    parseMountTable(mounts),
  );
  expect(found).toEqual({
    guarded: [...guarded(join(home, '.ssh'), 'hidden'), ...guarded(join(again, '.ssh'), 'hidden')],
    hide: [...hide, join(again, 'private/key.txt')],
  });
});

test('18.703: attack: a part of a hidden folder is mounted at a second place', () => {
  const { home, again, writable, line } = places();
  const place = join(again, 'vol');
  const mounts = [line('8:1', '/', '/'), line('8:1', `${home}/private`, place)].join('\n');
  const found = withSecondPlaces(
    { guarded: guarded(home, 'hidden'), hide: [] },
    writable,
    parseMountTable(mounts),
  );
  expect(found.guarded).toEqual([...guarded(home, 'hidden'), ...guarded(place, 'hidden')]);
});

test('18.703: attack: a disk that is mounted in a hidden folder is also mounted elsewhere', () => {
  const { home, again, writable, line } = places();
  const [inside, elsewhere] = [join(home, 'vol'), join(again, 'vol')];
  const mounts = [
    line('8:1', '/', '/'),
    line('8:2', '/', inside),
    line('8:2', '/', elsewhere),
  ].join('\n');
  const found = withSecondPlaces({ guarded: [], hide: [home] }, writable, parseMountTable(mounts));
  expect(found.hide).toEqual([home, elsewhere]);
});

test('18.703: attack: a command changes a protected folder at a second place in the workspace', () => {
  const { home, again, writable, line } = places();
  const mounts = [line('8:1', '/', '/'), line('8:1', home, again)].join('\n');
  const found = (folders: readonly string[]) =>
    withSecondPlaces(
      { guarded: guarded(`${home}/vol`, 'read-only'), hide: [] },
      folders,
      parseMountTable(mounts),
    );
  expect(found(writable).guarded).toContainEqual({
    path: join(again, 'vol'),
    guard: 'read-only',
    isFolder: true,
  });
  expect(found([home]).guarded).toHaveLength(1);
});

test('18.703: a mount that another mount covers, or of another disk, changes nothing', () => {
  const { home, again, writable, line } = places();
  const given = { guarded: guarded(join(home, '.ssh'), 'hidden'), hide: [] };
  for (const lines of [
    [line('8:1', '/', '/'), line('8:1', home, again), line('8:9', '/', again)],
    [line('8:1', '/', '/'), line('8:2', '/', again)],
    [line('8:1', '/', '/')],
    [],
  ])
    expect(withSecondPlaces(given, writable, parseMountTable(lines.join('\n')))).toEqual(given);
});
