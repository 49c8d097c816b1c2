import { type ThemeName, themeNames } from '../../contract/config.ts';
import type { CodeTheme } from '../../contract/extensions.ts';
import { joinStyles, plain, type Style } from './style.ts';

/** The role of a text. A theme assigns a style to each role. */
export type Role =
  | 'heading1'
  | 'heading'
  | 'strong'
  | 'emphasis'
  | 'strike'
  | 'code'
  | 'link'
  | 'address'
  | 'html'
  | 'marker'
  | 'muted'
  | 'tableHead'
  | CodeRole
  | DiffRole;

export type CodeRole =
  | 'keyword'
  | 'string'
  | 'number'
  | 'comment'
  | 'type'
  | 'function'
  | 'variable'
  | 'attribute'
  | 'tag'
  | 'meta'
  | 'added'
  | 'removed';

type DiffRole = 'addedPart' | 'removedPart' | 'hunk' | 'file';

/** The symbols for drawing, each one cell wide. */
interface Symbols {
  /** The bullets by list depth. The last bullet is used for all deeper levels. */
  readonly bullets: readonly string[];
  readonly quote: string;
  readonly rule: string;
  readonly column: string;
  readonly cross: string;
  /** Marks the language of a code block. */
  readonly label: string;
  /** Marks a row that continues a long line. */
  readonly wrapped: string;
  /** Marks a place where text was cut. */
  readonly cut: string;
}

export interface Theme {
  readonly styles: { readonly [R in Role]: Style };
  readonly symbols: Symbols;
  /** True if links are written as OSC 8 sequences. Otherwise the address is written as text. */
  readonly hyperlinks: boolean;
  /** True if headings and code keep their Markdown marks, because the theme has no styles. */
  readonly marks: boolean;
  /** True if each row of a table is a list of fields, without columns. Default: false. */
  readonly listsTables?: boolean | undefined;
}

interface TerminalInfo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY: boolean;
}

/**
 * Chooses the theme for a terminal. FORCE_COLOR has the highest priority, then NO_COLOR, then the
 * features of the terminal.
 */
export function themeFor({ env, isTTY }: TerminalInfo): Theme {
  const isDumb = env['TERM'] === 'dumb';
  if (!hasColor(env, isTTY && !isDumb)) return isDumb ? dumbTheme : plainTheme;
  return isTTY && hasHyperlinks(env) ? withHyperlinks(colorTheme) : colorTheme;
}

function hasColor(env: TerminalInfo['env'], isAble: boolean): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return !['0', 'false'].includes(forced);
  return isAble && (env['NO_COLOR'] ?? '') === '';
}

const hyperlinkTerminals = ['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper'];
/** The first version of VTE in which hyperlinks work. */
const minHyperlinkVte = 5000;

/**
 * Returns true if the terminal is known to support hyperlinks. In other terminals, the user would
 * not see the address.
 */
function hasHyperlinks(env: TerminalInfo['env']): boolean {
  const forced = env['FORCE_HYPERLINK'];
  if (forced !== undefined) return forced !== '0';
  // Support for links in a multiplexer depends on its version, which is unknown.
  if (env['TMUX'] !== undefined || /^(screen|tmux|dumb)/.test(env['TERM'] ?? '')) return false;
  return (
    hyperlinkTerminals.includes(env['TERM_PROGRAM'] ?? '') ||
    Number(env['VTE_VERSION'] ?? 0) >= minHyperlinkVte ||
    env['TERM'] === 'xterm-kitty' ||
    env['WT_SESSION'] !== undefined
  );
}

const unicode: Symbols = {
  bullets: ['•', '◦', '▪'],
  quote: '│',
  rule: '─',
  column: '│',
  cross: '┼',
  label: '──',
  wrapped: '↳',
  cut: '…',
};

const ascii: Symbols = {
  bullets: ['-', '*', '+'],
  quote: '|',
  rule: '-',
  column: '|',
  cross: '+',
  label: '--',
  wrapped: '\\',
  cut: '~',
};

/** The basic colors. They are readable on black and on white. */
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

const plainStyles = mapStyles(colors, () => plain);

export const colorTheme: Theme = {
  styles: colors,
  symbols: unicode,
  hyperlinks: false,
  marks: false,
};

/** Codes that are easier to read on black: the bright colors. */
const onDark: Readonly<Record<string, string>> = {
  ...{ 31: '91', 32: '92', 33: '93', 34: '94', 35: '95', 36: '96' },
};
/** Codes that are easier to read on white: darker colors of the 256-color palette. */
const onLight: Readonly<Record<string, string>> = {
  ...{ 31: '38;5;124', 32: '38;5;28', 33: '38;5;94', 34: '38;5;25', 35: '38;5;90', 36: '38;5;30' },
};

/** Returns the theme with a name. `base` is the theme that `themeFor` chose for the terminal. */
export function themeNamed(name: ThemeName, base: Theme): Theme {
  if (name === 'auto') return base;
  if (name === 'none') return { ...base, styles: plainStyles, hyperlinks: false, marks: true };
  const codes = name === 'dark' ? onDark : onLight;
  const styles = mapStyles(base.styles, (style) => style.map((code) => codes[code] ?? code));
  return { ...base, styles };
}

/** Returns the theme with this name: a built-in theme, or one of the themes of extensions. */
export function findTheme(
  name: string,
  base: Theme,
  others: readonly CodeTheme[] = [],
): Theme | undefined {
  const known = themeNames.find((one) => one === name);
  if (known !== undefined) return themeNamed(known, base);
  const own = others.find((one) => one.name === name);
  return own && withStyles(base, own.styles);
}

const colorNames = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const attributeCodes: Readonly<Record<string, string>> = {
  ...{ bold: '1', dim: '2', italic: '3', underline: '4', inverse: '7' },
};

/**
 * Returns the theme with the styles of an extension, such as `bold bright-blue` or `#b58900`. Unknown roles and
 * unknown words have no effect.
 */
function withStyles(base: Theme, styles: Readonly<Record<string, string>>): Theme {
  const own = Object.entries(styles).flatMap(([role, text]) =>
    Object.hasOwn(base.styles, role) ? [[role, styleOf(text)] as const] : [],
  );
  return { ...base, styles: { ...base.styles, ...Object.fromEntries(own) } };
}

function styleOf(text: string): Style {
  return text
    .toLowerCase()
    .split(/\s+/)
    .flatMap((word) => {
      if (Object.hasOwn(attributeCodes, word)) return attributeCodes[word] ?? [];
      const [, red, green, blue] = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/.exec(word) ?? [];
      if (red !== undefined && green !== undefined && blue !== undefined)
        return `38;2;${[red, green, blue].map((part) => Number.parseInt(part, 16)).join(';')}`;
      const color = colorNames.indexOf(word.replace(/^bright-/, ''));
      return color < 0 ? [] : String((word.startsWith('bright-') ? 90 : 30) + color);
    });
}

/** A theme without escape sequences. */
export const plainTheme: Theme = {
  styles: plainStyles,
  symbols: unicode,
  hyperlinks: false,
  marks: true,
};

/** The plain theme with ASCII symbols, for terminals with minimal features. */
export const dumbTheme: Theme = { ...plainTheme, symbols: ascii };

/**
 * Returns the theme for the plain mode, which a screen reader reads: only ASCII symbols, no lines, and Markdown
 * marks, because styles are not heard.
 */
export function spoken(theme: Theme): Theme {
  const symbols = { ...ascii, rule: '', cross: '', column: ',', label: 'Code:' };
  return { ...theme, symbols, hyperlinks: false, marks: true, listsTables: true };
}

export function withHyperlinks(theme: Theme): Theme {
  return { ...theme, hyperlinks: true };
}

/** Returns a dimmer theme, for reasoning and side notes. */
export function dimmed(theme: Theme): Theme {
  if (theme.styles.strong.length === 0) return theme;
  return { ...theme, styles: mapStyles(theme.styles, (style) => joinStyles(['2'], style)) };
}

function mapStyles(styles: Theme['styles'], change: (style: Style) => Style): Theme['styles'] {
  const entries = Object.entries(styles).map(([role, style]) => [role, change(style)]);
  return Object.fromEntries(entries) as { readonly [R in Role]: Style };
}
