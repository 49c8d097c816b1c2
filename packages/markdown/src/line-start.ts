import { cellsOf } from './block.ts';

// These functions recognize the first line of a block. They all expect a line without tabs.

/** A line with at least this indentation is code. */
export const codeIndent = 4;

export function indentOf(line: string): number {
  return /^ */.exec(line)?.[0].length ?? 0;
}

export function isBlank(line: string): boolean {
  return indentOf(line) === line.length;
}

/** Returns false if the line cannot start a block. This quick check excludes most lines. */
export function mayStart(line: string): boolean {
  return /^ {0,3}(?:[>#*+_=`~<$\\\d-]|\[\^| |$)/.test(line);
}

export interface HeadingStart {
  readonly level: number;
  readonly text: string;
}

export function headingStart(line: string): HeadingStart | undefined {
  const [opening, marks] = /^ {0,3}(#{1,6})(?= |$)/.exec(line) ?? [];
  if (opening === undefined || marks === undefined) return undefined;
  return { level: marks.length, text: withoutClosing(line.slice(opening.length).trim()) };
}

/** Removes the optional `#` marks at the end of a heading. */
function withoutClosing(text: string): string {
  let end = text.length;
  while (text[end - 1] === '#') end--;
  return end === 0 || text[end - 1] === ' ' ? text.slice(0, end).trimEnd() : text;
}

/**
 * Returns the level of the heading that this line underlines. Returns undefined if the line is not an
 * underline.
 */
export function underlineLevel(line: string): number | undefined {
  const [, marks] = /^ {0,3}(=+|-+) *$/.exec(line) ?? [];
  if (marks === undefined) return undefined;
  return marks.startsWith('=') ? 1 : 2;
}

export function isRule(line: string): boolean {
  return /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/.test(line);
}

export interface FenceStart {
  readonly mark: string;
  readonly length: number;
  readonly indent: number;
  readonly info: string;
}

export function fenceStart(line: string): FenceStart | undefined {
  const [opening, marks] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
  if (opening === undefined || marks === undefined) return undefined;
  const info = line.slice(opening.length).trim();
  const mark = marks.charAt(0);
  // The line is inline code, such as ```like this```.
  if (mark === '`' && info.includes('`')) return undefined;
  return { mark, length: marks.length, indent: indentOf(line), info };
}

export function isFenceEnd(line: string, { mark, length }: FenceStart): boolean {
  const text = line.trim();
  if (indentOf(line) >= codeIndent || text.length < length) return false;
  return text === mark.repeat(text.length);
}

/**
 * If the line contains only `$$` or `\[`, it starts a formula. Returns the mark that ends this formula.
 * Returns undefined for other lines.
 */
export function mathEnd(line: string): string | undefined {
  const [, mark] = /^ {0,3}(\$\$|\\\[)\s*$/.exec(line) ?? [];
  return mark === '\\[' ? '\\]' : mark;
}

/** Returns the length of the mark of a quote. Returns undefined if the line does not start a quote. */
export function quoteStart(line: string): number | undefined {
  return /^ {0,3}> ?/.exec(line)?.[0].length;
}

export interface FootnoteStart {
  readonly label: string;
  /** The length of the mark including the spaces after it. */
  readonly offset: number;
}

/** Returns the footnote that a line such as `[^1]: text` starts. Returns undefined for other lines. */
export function footnoteStart(line: string): FootnoteStart | undefined {
  const [mark, label] = /^ {0,3}\[\^([^\s[\]^]{1,64})\]: */.exec(line) ?? [];
  return mark === undefined || label === undefined ? undefined : { label, offset: mark.length };
}

export interface ItemStart {
  readonly number: number | undefined;
  /** The mark of the list item: `-`, `*`, `+`, `.` or `)`. All items of a list have the same mark. */
  readonly mark: string;
  /** The length of the marker including the spaces after it. */
  readonly offset: number;
  readonly isEmpty: boolean;
}

export function itemStart(line: string): ItemStart | undefined {
  const [marker, number, mark = ''] = /^ {0,3}(\d{0,9})([-*+.)])(?= |$)/.exec(line) ?? [];
  if (marker === undefined || (number === '') !== /[-*+]/.test(mark)) return undefined;
  const rest = line.slice(marker.length);
  const isEmpty = rest.trim() === '';
  // If there are more spaces, the first space belongs to the marker, and the rest is the indentation of code.
  const space = isEmpty || indentOf(rest) > codeIndent ? 1 : indentOf(rest);
  const counted = number === '' ? undefined : Number(number);
  return { number: counted, mark, offset: marker.length + space, isEmpty };
}

/**
 * The maximum length of the first two lines of a table, and the maximum number of columns. A larger table
 * stays text.
 */
const maxHead = 2048;
const maxColumns = 32;

/** Returns true if the two lines start a table. */
export function isTableStart(head: string, under: string): boolean {
  if (head.length + under.length > maxHead) return false;
  const isUnderline = /^ {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/.test(under);
  if (!isUnderline || !/[|:]/.test(under)) return false;
  const columns = cellsOf(under).length;
  return columns <= maxColumns && cellsOf(head).length === columns;
}

const blockTags =
  'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|meta|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul';
const attribute = /\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?/;

/** The forms of HTML blocks. A form without `end` ends before an empty line. */
const forms: readonly { readonly start: RegExp; readonly end?: RegExp }[] = [
  {
    start: /^<(?:script|pre|style|textarea)(?:\s|>|$)/i,
    end: /<\/(?:script|pre|style|textarea)>/i,
  },
  { start: /^<!--/, end: /-->/ },
  { start: /^<\?/, end: /\?>/ },
  { start: /^<![a-zA-Z]/, end: />/ },
  { start: /^<!\[CDATA\[/, end: /\]\]>/ },
  { start: new RegExp(`^</?(?:${blockTags})(?:\\s|/?>|$)`, 'i') },
];

/** Matches a line that contains only one tag. */
const singleTag = new RegExp(
  `^(?:<[a-zA-Z][a-zA-Z\\d-]*(?:${attribute.source})*\\s*/?>|</[a-zA-Z][a-zA-Z\\d-]*\\s*>)\\s*$`,
);

export interface HtmlStart {
  /** Matches the last line of the HTML block. If it is undefined, an empty line ends the block. */
  readonly end: RegExp | undefined;
  /** True if the HTML block can follow a paragraph without an empty line. */
  readonly interrupts: boolean;
}

export function htmlStart(line: string): HtmlStart | undefined {
  const text = line.trimStart();
  if (!text.startsWith('<')) return undefined;
  const form = forms.find(({ start }) => start.test(text));
  if (form !== undefined) return { end: form.end, interrupts: true };
  return singleTag.test(text) ? { end: undefined, interrupts: false } : undefined;
}
