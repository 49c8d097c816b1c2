import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { RepositorySearch } from './repository-search.ts';

/** This time is longer than the steps of the kernel's clock for files. */
const settledAfterMs = 15;

const folder = fc
  .array(fc.constantFrom('a', 'b', 'c', 'node_modules'), { minLength: 1, maxLength: 3 })
  .map((names) => names.join('/'));
const change = fc.record({
  kind: fc.constantFrom('folder', 'repository', 'file', 'bare', 'remove', 'move'),
  at: folder,
  to: folder,
});
const changes = fc.array(change, { maxLength: 8 });
const searchesPackages = fc.boolean();
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never;

/** Makes a change, and then resets the modification time like a hostile command. */
function makeChange(root: string, { kind, at, to }: Change): void {
  const path = join(root, at);
  const parent = dirname(path);
  mkdirSync(parent, { recursive: true });
  const { atime, mtime } = statSync(parent);
  if (kind === 'folder') mkdirSync(path, { recursive: true });
  if (kind === 'repository' || kind === 'file') {
    mkdirSync(path, { recursive: true });
    rmSync(join(path, '.git'), { recursive: true, force: true });
    if (kind === 'file') writeFileSync(join(path, '.git'), 'gitdir: elsewhere');
    else mkdirSync(join(path, '.git'));
  }
  if (kind === 'bare')
    for (const name of ['HEAD', 'objects', 'refs'])
      mkdirSync(join(path, name), { recursive: true });
  if (kind === 'remove') rmSync(path, { recursive: true, force: true });
  if (kind === 'move' && !`${to}/`.startsWith(`${at}/`) && !`${at}/`.startsWith(`${to}/`)) {
    mkdirSync(path, { recursive: true });
    rmSync(join(root, to), { recursive: true, force: true });
    mkdirSync(dirname(join(root, to)), { recursive: true });
    renameSync(path, join(root, to));
  }
  utimesSync(parent, atime, mtime);
}

test('a search that keeps what it read finds what a new search finds', async () => {
  await fc.assert(
    fc.asyncProperty(searchesPackages, changes, async (searchesPackages, changes) => {
      const root = temporaryFolder();
      const kept = new RepositorySearch({ settledAfterMs, searchesPackages });
      for (const each of changes) {
        makeChange(root, each);
        const found = new RepositorySearch({ searchesPackages }).find(root);
        expect((await kept.surveyInSlices(root, [root])).found).toEqual(found);
        await setTimeout(2 * settledAfterMs);
        // From now on, the folders count as settled, and the next search does not read them again.
        kept.find(root);
      }
    }),
    { numRuns: runs(50) },
  );
});
