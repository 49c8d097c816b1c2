import { expect, test } from 'vitest';
import { anyTest, entryMatcher, lexicalPath, pathMatcher } from './match-path.ts';

// A rule must deny the same paths, whether the policy checks one path or all names of a folder.

const root = '/srv/project';
const globs: readonly string[] = [
  ...['.env', '*.key', 'secret*', '**', '', 'a', './a', 'a/', 'a/b', 'a/*', 'a/**', '**/b', 'A/B'],
  ...['**/a/**', 'a/**/b', '*/b', '**/a/*.key', '@(a|b)/c', '{a,b}/c', '[ab]/c', 'a/b/**/**'],
  ...['/srv/project/a', '/srv/**', '/srv/project/a/b/*.key', '/**/b', '/', '/*', '!(a)/b'],
  ...['/srv/project', '/srv/other/a', 'project', 'a b', 'a.b', 'a.blocked-by-sandbox-1'],
];
const folders: readonly string[] = [
  ...[
    '.',
    'a',
    'a/b',
    'b',
    'c/a',
    'a/c/b',
    'A',
    'x.blocked-by-sandbox-1',
    '/',
    '/srv',
    '/srv/other',
  ],
];
const names: readonly string[] = [
  ...['a', 'b', 'c', 'A', '.env', '.ENV', 'x.key', 'secret-1', 'a b', 'a.b', 'srv', 'project'],
  ...['.env.blocked-by-sandbox-1', 'x.blocked-by-sandbox-cut-1', 'axb', 'a'.repeat(300)],
];

test.each([false, true])(
  '18.698: the names of a folder match as their paths (exact: %s)',
  (exact) => {
    const differences: string[] = [];
    for (const glob of globs)
      for (const given of folders) {
        const matches = pathMatcher(glob, { exact, isWide: true });
        const folder = lexicalPath(root, given);
        const isMatch = anyTest(folder, entryMatcher(glob, { exact })(folder), matches);
        // The root is no entry of a folder in it.
        for (const name of names)
          if (
            `${given}/${name}` !== root &&
            isMatch(name) !== matches(lexicalPath(root, `${given}/${name}`))
          )
            differences.push(`${glob} ${given} ${name}`);
      }
    expect(differences).toEqual([]);
  },
);
