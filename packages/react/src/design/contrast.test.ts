import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

// Checks the contrast that WCAG AA requires, in both themes: 4.5 for text, and 3 for the outlines of
// fields and the marks of charts.

type Theme = 'light' | 'dark';
type Rgb = readonly [red: number, green: number, blue: number, alpha: number];

const folder = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, folder), 'utf8');

/** Reads the colors of the tokens: `--name: light-dark(#light, #dark)`. */
const colors = new Map(
  [...read('design/tokens.css').matchAll(/--([\w-]+): light-dark\((#\w+), (#\w+)\);/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light: rgb(light), dark: rgb(dark) }],
  ),
);

function rgb(hex: string): Rgb {
  const digits = hex.slice(1);
  const long = digits.length < 6 ? [...digits].map((one) => one + one).join('') : digits;
  const at = (start: number) => Number.parseInt(long.slice(start, start + 2) || 'ff', 16);
  return [at(0), at(2), at(4), at(6) / 255];
}

function color(name: string, theme: Theme): Rgb {
  const found = colors.get(name);
  if (found === undefined) throw new Error(`There is no color --${name} in tokens.css`);
  return found[theme];
}

/** Returns the visible color of a half-transparent color on a layer. */
function over([red, green, blue, alpha]: Rgb, under: Rgb): Rgb {
  const mix = (top: number, bottom: number) => top * alpha + bottom * (1 - alpha);
  return [mix(red, under[0]), mix(green, under[1]), mix(blue, under[2]), 1];
}

function luminance([red, green, blue]: Rgb): number {
  const linear = (value: number) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

function contrast(one: Rgb, other: Rgb): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const layers = ['ground', 'surface', 'raised', 'sunken'];
const texts = ['text', 'text-soft', 'text-faint', 'accent', 'accent-strong', 'good', 'warn', 'bad'];
const codes = [...colors.keys()].filter((name) => name.startsWith('code-'));
const series = [...colors.keys()].filter((name) => name.startsWith('series-'));
const tints = ['accent-soft', 'good-soft', 'warn-soft', 'bad-soft', 'added', 'removed'];

type Pair = readonly [front: string, back: string];
const pairs = (fronts: readonly string[], backs: readonly string[]): readonly Pair[] =>
  fronts.flatMap((front) => backs.map((back): Pair => [front, back]));

/** The pairs of text and background colors that one CSS rule sets. */
const written = globSync('**/*.css', { cwd: folder }).flatMap((path): readonly Pair[] =>
  read(path)
    .split('}')
    .flatMap((rule): readonly Pair[] => {
      const front = /(?:^|[\s;{])color: var\(--([\w-]+)\)/.exec(rule)?.[1];
      const back = /background(?:-color)?: var\(--([\w-]+)\)/.exec(rule)?.[1];
      return front === undefined || back === undefined ? [] : [[front, back]];
    }),
);

const textPairs: readonly Pair[] = [
  ...pairs([...texts, ...codes], layers),
  ...pairs(['text', 'text-soft', 'text-faint'], tints),
  ...pairs([...codes], ['added', 'removed', 'bad-soft']),
  ['accent', 'accent-soft'],
  ['good', 'good-soft'],
  ['warn', 'warn-soft'],
  ['bad', 'bad-soft'],
  ['added-mark', 'added'],
  ['removed-mark', 'removed'],
  ['on-ink', 'ink'],
  ['on-ink', 'ink-strong'],
  ['on-accent', 'accent'],
  ['on-accent', 'accent-strong'],
  ...written,
];

const themes: readonly Theme[] = ['light', 'dark'];

/** Returns the pairs whose contrast is lower than required. */
function lowPairs(listed: readonly Pair[], least: number, veil?: string): readonly string[] {
  const low = themes.flatMap((theme) =>
    listed.flatMap(([front, back]) => {
      const layer = over(color(back, theme), color('surface', theme));
      const under = veil === undefined ? layer : over(color(veil, theme), layer);
      const ratio = contrast(over(color(front, theme), under), under);
      return ratio < least ? [`${theme}: --${front} on --${back}: ${ratio.toFixed(2)}`] : [];
    }),
  );
  return [...new Set(low)];
}

test('the tokens have colors for both themes', () => {
  expect(colors.size).toBeGreaterThan(40);
  expect(written.length).toBeGreaterThan(20);
});

test('every text has a contrast of 4.5 on every layer', () => {
  expect(lowPairs(textPairs, 4.5)).toEqual([]);
});

test('text keeps its contrast while the pointer is over it or presses it', () => {
  const plain = pairs(['text', 'text-soft', 'text-faint', 'accent', 'warn', 'bad'], layers);
  expect(lowPairs(plain, 4.5, 'hover')).toEqual([]);
  expect(lowPairs(pairs(['text', 'text-soft'], layers), 4.5, 'pressed')).toEqual([]);
});

test('the outlines of fields and the marks of charts have a contrast of 3', () => {
  expect(lowPairs(pairs(['line-field', 'warn-mark', ...series], ['surface', 'raised']), 3)).toEqual(
    [],
  );
  expect(lowPairs(pairs(['accent'], layers), 3)).toEqual([]);
});
