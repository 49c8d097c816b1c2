import { expect, test } from 'vitest';
import {
  colorTheme,
  dimmed,
  dumbTheme,
  findTheme,
  plainTheme,
  themeFor,
  withHyperlinks,
} from './theme.ts';

const terminal = { TERM: 'xterm-256color' };

test.each([
  ['a terminal has colours', terminal, true, colorTheme],
  ['a file has none', terminal, false, plainTheme],
  ['NO_COLOR says none', { ...terminal, NO_COLOR: '1' }, true, plainTheme],
  ['an empty NO_COLOR says nothing', { ...terminal, NO_COLOR: '' }, true, colorTheme],
  ['FORCE_COLOR is for files too', { FORCE_COLOR: '1' }, false, colorTheme],
  ['FORCE_COLOR wins over NO_COLOR', { FORCE_COLOR: '1', NO_COLOR: '1' }, true, colorTheme],
  ['FORCE_COLOR=0 says none', { ...terminal, FORCE_COLOR: '0' }, true, plainTheme],
  ['a dumb terminal has none, and ASCII marks', { TERM: 'dumb' }, true, dumbTheme],
  ['a dumb terminal can be forced', { TERM: 'dumb', FORCE_COLOR: '1' }, true, colorTheme],
])('%s', (_, env, isTTY, theme) => {
  expect(themeFor({ env, isTTY })).toEqual(theme);
});

test.each([
  [{ TERM_PROGRAM: 'iTerm.app' }, true],
  [{ TERM: 'xterm-kitty' }, true],
  [{ VTE_VERSION: '7800' }, true],
  [{ VTE_VERSION: '4000' }, false],
  [{ WT_SESSION: 'id' }, true],
  [{ TERM_PROGRAM: 'iTerm.app', TMUX: '/tmp/t' }, false],
  [{ FORCE_HYPERLINK: '1' }, true],
  [{ TERM_PROGRAM: 'iTerm.app', FORCE_HYPERLINK: '0' }, false],
  [{ TERM_PROGRAM: 'iTerm.app', NO_COLOR: '1' }, false],
])('%j makes links: %s', (env, hyperlinks) => {
  expect(themeFor({ env, isTTY: true }).hyperlinks).toBe(hyperlinks);
  expect(themeFor({ env: { ...env, FORCE_COLOR: '1' }, isTTY: false }).hyperlinks).toBe(false);
});

test('a theme can be dimmed, unless it is plain', () => {
  expect(dimmed(colorTheme).styles.code).toEqual(['2', '36']);
  expect(dimmed(plainTheme)).toBe(plainTheme);
  expect(withHyperlinks(colorTheme).styles).toBe(colorTheme.styles);
});

test('a theme of an extension changes the styles that it names, and unknown words have no effect', () => {
  const styles = { heading: 'bold #ffcc00', code: 'bright-red nonsense', nobody: 'red' };
  const theme = findTheme('sun', colorTheme, [{ name: 'sun', styles }]);
  expect(theme?.styles.heading).toEqual(['1', '38;2;255;204;0']);
  expect(theme?.styles.code).toEqual(['91']);
  expect(theme?.styles.link).toEqual(colorTheme.styles.link);
  expect(findTheme('moon', colorTheme)).toBeUndefined();
  expect(findTheme('auto', colorTheme, [{ name: 'auto', styles }])).toBe(colorTheme);
});
