/** How lines begin that are not just text. All of them are asked about lines without tabs. */

/** From here on, what is indented is code. */
export const codeIndent = 4;

export function indentOf(line: string): number {
  return /^ */.exec(line)?.[0].length ?? 0;
}

export function isBlank(line: string): boolean {
  return indentOf(line) === line.length;
}

/** Whether it is worth asking what else than text begins here, for most lines do not. */
export function mayStart(line: string): boolean {
  return /^ {0,3}(?:[>#*+_=`~<\d-]| |$)/.test(line);
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

/** A heading may end with marks as well. */
function withoutClosing(text: string): string {
  let end = text.length;
  while (text[end - 1] === '#') end--;
  return end === 0 || text[end - 1] === ' ' ? text.slice(0, end).trimEnd() : text;
}

/** The level of the heading that a paragraph becomes when it is underlined like this. */
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
  // Otherwise it is code in a line: ```like this```.
  if (mark === '`' && info.includes('`')) return undefined;
  return { mark, length: marks.length, indent: indentOf(line), info };
}

export function isFenceEnd(line: string, { mark, length }: FenceStart): boolean {
  const text = line.trim();
  if (indentOf(line) >= codeIndent || text.length < length) return false;
  return text === mark.repeat(text.length);
}

/** How many characters the mark of a quote takes. */
export function quoteStart(line: string): number | undefined {
  return /^ {0,3}> ?/.exec(line)?.[0].length;
}

export interface ItemStart {
  readonly number: number | undefined;
  /** Items with another mark are of another list: `-`, `*`, `+`, `.` or `)`. */
  readonly mark: string;
  /** How many characters in front are not the item's own. */
  readonly offset: number;
  readonly isEmpty: boolean;
}

export function itemStart(line: string): ItemStart | undefined {
  const [marker, number, mark = ''] = /^ {0,3}(\d{0,9})([-*+.)])(?= |$)/.exec(line) ?? [];
  if (marker === undefined || (number === '') !== /[-*+]/.test(mark)) return undefined;
  const rest = line.slice(marker.length);
  const isEmpty = rest.trim() === '';
  // More space than this belongs to the item: it is code.
  const space = isEmpty || indentOf(rest) > codeIndent ? 1 : indentOf(rest);
  const counted = number === '' ? undefined : Number(number);
  return { number: counted, mark, offset: marker.length + space, isEmpty };
}

/** What is wider is no table that anybody could read. */
const maxHead = 2048;
const maxColumns = 32;

/** Whether the line under it makes this one the head of a table. */
export function isTableStart(head: string, under: string): boolean {
  if (head.length + under.length > maxHead) return false;
  const isUnderline = /^ {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/.test(under);
  if (!isUnderline || !/[|:]/.test(under)) return false;
  const columns = cellsOf(under).length;
  return columns <= maxColumns && cellsOf(head).length === columns;
}

/** The cells of a row; a pipe that belongs to one is escaped. */
export function cellsOf(row: string): readonly string[] {
  const text = row.trim();
  const cells: string[] = [''];
  for (let at = text.startsWith('|') ? 1 : 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '\\' && text[at + 1] === '|') {
      cells.push(`${cells.pop()}|`);
      at++;
    } else if (char === '|') {
      if (at < text.length - 1) cells.push('');
    } else cells.push(`${cells.pop()}${char}`);
  }
  return cells.map((cell) => cell.trim());
}
