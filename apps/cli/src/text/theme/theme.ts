import { joinStyles, plain, type Style } from './style.ts';

/** The role of a text. A theme assigns a style to each. */
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
  /** By list depth. The last one applies to all deeper levels. */
  readonly bullets: readonly string[];
  readonly quote: string;
  readonly rule: string;
  readonly column: string;
  readonly cross: string;
  /** Marks the continuation of a long line. */
  readonly wrapped: string;
  /** Marks a cut. */
  readonly cut: string;
}

export interface Theme {
  readonly styles: { readonly [R in Role]: Style };
  readonly symbols: Symbols;
  /** Whether links are written as OSC 8. Otherwise the address is written out. */
  readonly hyperlinks: boolean;
  /** Without styles, Markdown's own marks show headings and code. */
  readonly marks: boolean;
}

interface TerminalInfo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY: boolean;
}

/** Chooses the theme for a terminal. FORCE_COLOR counts first, then NO_COLOR, then the terminal. */
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
/** Hyperlinks work from this VTE version on. */
const minHyperlinkVte = 5000;

/** Hyperlinks are used only where they are known to work. Elsewhere the address would be lost. */
function hasHyperlinks(env: TerminalInfo['env']): boolean {
  const forced = env['FORCE_HYPERLINK'];
  if (forced !== undefined) return forced !== '0';
  // Whether a multiplexer supports links depends on its version, which is unknown.
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

/** The basic colours that are readable on black and on white. */
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

/** Uses no escape sequences. */
export const plainTheme: Theme = {
  styles: plainStyles,
  symbols: unicode,
  hyperlinks: false,
  marks: true,
};

/** Plain with ASCII symbols, for terminals without capabilities. */
export const dumbTheme: Theme = { ...plainTheme, symbols: ascii };

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
