import { joinStyles, plain, type Style } from './style.ts';
import type { Role, Symbols, Theme } from './theme.ts';

const unicode: Symbols = {
  bullets: ['•', '◦', '▪'],
  quote: '│',
  rule: '─',
  column: '│',
  cross: '┼',
  wrapped: '↳',
  cut: '…',
};

const ascii: Symbols = {
  bullets: ['-', '*', '+'],
  quote: '|',
  rule: '-',
  column: '|',
  cross: '+',
  wrapped: '\\',
  cut: '~',
};

/** The colours that every terminal has, and of those the ones to be read on black and on white. */
const colors: Theme['styles'] = {
  heading1: ['1', '4', '35'],
  heading: ['1', '35'],
  strong: ['1'],
  emphasis: ['3'],
  strike: ['9'],
  code: ['36'],
  link: ['4', '34'],
  address: ['2'],
  html: ['2'],
  marker: ['34'],
  muted: ['2'],
  tableHead: ['1'],
  keyword: ['35'],
  string: ['32'],
  number: ['33'],
  comment: ['2', '3'],
  type: ['36'],
  function: ['34'],
  variable: ['31'],
  attribute: ['33'],
  tag: ['34'],
  meta: ['36'],
  added: ['32'],
  removed: ['31'],
  addedPart: ['32', '7'],
  removedPart: ['31', '7'],
  hunk: ['36'],
  file: ['1'],
};

const none = mapStyles(colors, () => plain);

export const colorTheme: Theme = {
  styles: colors,
  symbols: unicode,
  hyperlinks: false,
  marks: false,
};

/** No escape sequence at all. */
export const plainTheme: Theme = {
  styles: none,
  symbols: unicode,
  hyperlinks: false,
  marks: true,
};

/** Plain, and the marks are ASCII: for terminals that say they can do nothing. */
export const dumbTheme: Theme = { ...plainTheme, symbols: ascii };

export function withHyperlinks(theme: Theme): Theme {
  return { ...theme, hyperlinks: true };
}

/** The same theme, fainter: for reasoning and other things said aside. */
export function dimmed(theme: Theme): Theme {
  if (theme.styles.strong.length === 0) return theme;
  return { ...theme, styles: mapStyles(theme.styles, (style) => joinStyles(['2'], style)) };
}

function mapStyles(styles: Theme['styles'], change: (style: Style) => Style): Theme['styles'] {
  const entries = Object.entries(styles).map(([role, style]) => [role, change(style)]);
  return Object.fromEntries(entries) as { readonly [R in Role]: Style };
}
