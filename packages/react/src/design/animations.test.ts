import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../../', import.meta.url);
const sheets = globSync(['packages/react/src/**/*.css', 'apps/web/src/**/*.css'], {
  cwd: root,
}).map((path) => readFileSync(new URL(path, root), 'utf8'));

/** The properties that each animation changes, by the name of the animation. */
const properties = new Map(
  sheets.flatMap((sheet) =>
    [...sheet.matchAll(/@keyframes ([\w-]+) \{((?:[^{}]|\{[^{}]*\})*)\}/g)].map(
      ([, name = '', frames = '']) =>
        [name, [...frames.matchAll(/([\w-]+):/g)].map(([, property]) => property)] as const,
    ),
  ),
);

test('22.7: the compositor runs all animations without an end', () => {
  const endless = sheets.flatMap((sheet) =>
    [...sheet.matchAll(/animation: ([\w-]+) [^;]*\binfinite\b/g)].map(([, name = '']) => name),
  );
  expect(endless).toEqual(expect.arrayContaining(['flow', 'fall', 'blink', 'shimmer']));
  // Other properties need a new style and a new picture of the page in each frame.
  const changed = new Set(endless.flatMap((name) => properties.get(name) ?? ['unknown']));
  expect([...changed].toSorted()).toEqual(['opacity', 'transform']);
});
