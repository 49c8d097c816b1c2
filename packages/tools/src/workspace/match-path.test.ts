import { isAbsolute, relative, sep } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { compileGlob } from './globs/compile-glob.ts';
import { isBelow, isInside, lexicalPath, pathMatcher } from './match-path.ts';

const root = '/work';
const matches = (glob: string, path: string, isWide = true) =>
  pathMatcher(glob, { isWide })(lexicalPath(root, path));

describe('a rule that asks or denies', () => {
  test.each([
    ['secret/**', 'secret/a', true],
    ['secret/**', 'SECRET', true],
    ['secret', 'a/secret/b', true],
    ['*.pem', 'a/k.pem', true],
    ['a/*.pem', 'b/a/k.pem', false],
    ['**/a/*.pem', 'b/a/k.pem/x', true],
    ['{a,b}/*', 'b/k/x', true],
    ['{a/b,c}', 'a/b/x', true],
    ['{a/b,c}', 'a/x', false],
    ['/etc/**', '/etc/passwd', true],
    ['/etc/**', '/tmp/etc', false],
    ['**', 'a', true],
    ['**', '.', false],
    ['./', 'a', true],
    ['\\[a\\].txt', 'b/[a].txt', true],
    ['[a', 'b/[a', true],
    ['keys/a|*.pem', 'keys/a|b.pem', true],
    ['keys/*.pem|private/*.pem', 'private/k.pem', false],
    ['keys/(a|b)/*', 'keys/b/c', false],
    ['keys/@(a|b)/*', 'keys/b/c', true],
  ])('%s matches %s: %s', (glob, path, isMatch) => {
    expect(matches(glob, path)).toBe(isMatch);
  });

  test('matches what a glob library finds for the path or one of its parent folders', () => {
    const name = fc.constantFrom('a', 'b', 'ab', '.a', 'A', 'b.a', '[a]', '(a)', '{a', 'a|b', '*');
    const whole = [
      'a',
      '*',
      '**',
      'a*',
      '?',
      '*.a',
      '{a,b}',
      '[ab]',
      '@(a|b)',
      '.*',
      '(a)',
      '(a|b)',
    ];
    const odd = ['\\[a\\]', '[a', '{a', '\\*', 'a|b', '|', '{a/b,b}', '@(a|b/a)', '[[:alpha:]]'];
    const part = fc.constantFrom(...whole, ...odd);
    const globs = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
    const paths = fc.array(name, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(globs, paths, (glob, names) => {
        const fits = compileGlob(glob, { nocase: true });
        const prefixes = names.map((_, at) => names.slice(0, at + 1).join('/'));
        const isFound = (glob.includes('/') ? prefixes : names).some((path) => fits(path));
        if (isFound) expect(matches(glob, names.join('/'))).toBe(true);
        // The library does not let the last `**` match no name after a wildcard.
        else if (!glob.endsWith('/**')) expect(matches(glob, names.join('/'))).toBe(false);
      }),
      { numRuns: 20 * runs(2000) },
    );
  });

  // With more than linear time or memory, these paths would exceed the limits of a test.
  test.each([
    ['secret/**', 'a/'],
    ['**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b', 'a/'],
    ['*a*a*a*b', 'a'],
    ['{a/b,c}/**', 'a/'],
  ])('18.495: attack: a model names a path of 500 KB, and %s takes long', (glob, unit) => {
    const path = unit.repeat(500_000 / unit.length);
    expect(typeof matches(glob, path)).toBe('boolean');
    expect(matches('secret/**', `secret/${path}`)).toBe(true);
    expect(matches(glob, path, false)).toBe(false);
  });
});

const name = fc.constantFrom('a', 'b', 'ab', '..', '.', '', '...', '..a', '.a', 'é', ' ');
const anyPath = fc
  .tuple(fc.constantFrom('/', '', '//', './'), fc.array(name, { maxLength: 5 }))
  .map(([start, names]) => start + names.join('/'));

test('a path is inside of a folder if its resolved form is', () => {
  fc.assert(
    fc.property(anyPath, anyPath, (folder, path) => {
      const inside = relative(folder, path);
      const isIn = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
      expect(isInside(folder, path)).toBe(isIn);
      expect(isBelow(folder, path)).toBe(isIn && inside !== '');
    }),
    { numRuns: runs(2000) },
  );
});
