import { appendFileSync, chmodSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import type { KeptPlace } from './protected-paths.ts';
import { watchNames } from './watch-names.ts';

// A command changes a guarded file without a replacement, because the system shows the file at a path that the
// sandbox does not find.

function keptConfig(): { readonly path: string; readonly place: KeptPlace } {
  const path = join(temporaryFolder(), 'config');
  writeFileSync(path, '[core]\n\tbare = false\n');
  const file = { content: readFileSync(path), mode: 0o644 };
  return { path, place: { path, guard: 'read-only', file } };
}

test('18.728: attack: a guarded file gets a new content in place', () => {
  const { path, place } = keptConfig();
  const watch = watchNames([], [place]);
  appendFileSync(path, '[core]\n\tfsmonitor = evil\n');
  utimesSync(path, 0, 0);
  expect(watch.finish()).toEqual([
    expect.stringContaining(`${path} changed while the command ran`),
  ]);
  // The user may have changed the file, so it stays. Only the command during which it changed reports it.
  expect(readFileSync(path, 'utf8')).toContain('fsmonitor');
  expect(watchNames([], [place]).finish()).toEqual([]);
});

test('18.729: a harmless change, and a change of permissions alone, are not reported', () => {
  const { path, place } = keptConfig();
  const watch = watchNames([], [place]);
  chmodSync(path, 0o600);
  appendFileSync(path, '[branch "a"]\n\tmerge = refs/heads/a\n');
  expect(watch.finish()).toEqual([]);
});
