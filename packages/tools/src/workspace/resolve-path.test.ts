import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { realPathOf, resolvePath } from './resolve-path.ts';

const names = ['a', 'b', 'f', 'in', 'up', 'out', 'abs', 'loop', 'gone'];
const path = fc
  .tuple(fc.boolean(), fc.array(fc.constantFrom(...names, '..', '.', ''), { maxLength: 8 }))
  .map(([isDotted, segments]) => (isDotted ? ['.', ...segments] : segments).join('/'))
  // This function accepts `f/` for a file. The kernel accepts a trailing slash only for folders.
  .filter((text) => text !== '' && !text.startsWith('/') && !/(?:f|gone)(?:\/\.?)+$/.test(text));

/** Creates folders, files and links of these names, at several depths. Some links lead outside. */
function createFolders(base: string): string {
  const root = join(base, 'inner');
  for (const folder of [
    'inner',
    'inner/a',
    'inner/a/b',
    'inner/b',
    'other',
    'other/a',
    'other/a/b',
  ]) {
    const here = join(base, folder);
    mkdirSync(here);
    writeFileSync(join(here, 'f'), '');
    const links = { in: root, up: '..', out: '../other/a', abs: join(base, 'other'), loop: 'loop' };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(here, name));
    symlinkSync('nowhere/../f', join(here, 'gone'));
  }
  return root;
}

test('a path leads where the kernel finds it', async () => {
  const root = createFolders(temporaryFolder());
  let found = 0;
  await fc.assert(
    fc.asyncProperty(path, async (given) => {
      const ours = await realPathOf(root, given).catch(() => undefined);
      let kernel: string | undefined;
      try {
        kernel = realpathSync.native(`${root}/${given}`);
      } catch {
        // The path does not exist, or its links form a loop.
      }
      // A missing name may still be created later.
      if (kernel === undefined) expect(ours?.exists ?? false, given).toBe(false);
      else expect(ours, given).toEqual({ real: kernel, exists: true });
      if (kernel !== undefined) found++;
    }),
  );
  if (isFull) expect(found).toBeGreaterThan(5);
});

test('a path is inside exactly if the kernel finds it inside', async () => {
  const root = createFolders(temporaryFolder());
  for (const given of [
    'out/../f',
    'out/b',
    'up/other/f',
    'a/abs/../inner/../f',
    'abs',
    'a/../out/..',
  ])
    await expect(resolvePath(root, given), given).rejects.toMatchObject({ code: 'outside' });
  for (const given of ['up/inner/f', 'a/in/b/f', 'a/b/up/f', 'abs/in/f'])
    expect((await resolvePath(root, given)).exists, given).toBe(true);
});
