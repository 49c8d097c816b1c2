import { joinStyles, plain, type Style } from './style.ts';

/** What a piece of text is; a theme says how that looks. */
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

/** The marks that text is drawn with, each one cell wide. */
interface Symbols {
  /** By depth of the list, the last for all that are deeper. */
  readonly bullets: readonly string[];
  readonly quote: string;
  readonly rule: string;
  readonly column: string;
  readonly cross: string;
  /** Before the rest of a line that was too long. */
  readonly wrapped: string;
  /** Where something was cut off. */
  readonly cut: string;
}

export interface Theme {
  readonly styles: { readonly [R in Role]: Style };
  readonly symbols: Symbols;
  /** Links as OSC 8; otherwise the address is written out. */
  readonly hyperlinks: boolean;
  /** Without styles, Markdown's own marks say what is a heading and what is code. */
  readonly marks: boolean;
}

interface TerminalInfo {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY: boolean;
}

/** How text may look there: FORCE_COLOR says it all, then NO_COLOR, then what the terminal is. */
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
/** From this version of VTE on, links are right. */
const minHyperlinkVte = 5000;

/** Only where they are known to work: elsewhere the address would be lost. */
function hasHyperlinks(env: TerminalInfo['env']): boolean {
  const forced = env['FORCE_HYPERLINK'];
  if (forced !== undefined) return forced !== '0';
  // What multiplexers pass on depends on their version, which they do not tell.
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

const plainStyles = mapStyles(colors, () => plain);

export const colorTheme: Theme = {
  styles: colors,
  symbols: unicode,
  hyperlinks: false,
  marks: false,
};

/** No escape sequence at all. */
export const plainTheme: Theme = {
  styles: plainStyles,
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
