import { escapeCodes, joinStyles, offCode, plain, type Style, sameStyle } from '../theme/style.ts';
import { expandTabs, printable } from './printable.ts';

/** Text with one style. It contains no control characters except newlines. */
export interface Span {
  readonly text: string;
  readonly style: Style;
  /** The target of a hyperlink. Undefined if the text is not a link. */
  readonly link?: string | undefined;
}

export type Line = readonly Span[];

function isSameAppearance(a: Span, b: Span): boolean {
  return a.link === b.link && sameStyle(a.style, b.style);
}

/**
 * Returns a line with escape codes. All styles are reset at the end of the line, so lines can be
 * written in any order.
 */
export function paintLine(line: Line): string {
  return mergeSpans(line).map(paint).join('');
}

function paint({ text, style, link }: Span): string {
  const { on, off } = escapeCodes(style);
  const painted = `${on}${text}${off}`;
  return link === undefined ? painted : `\u001b]8;;${link}\u0007${painted}\u001b]8;;\u0007`;
}

/** Joins adjacent spans of the same style, so that fewer escape codes are written. */
function mergeSpans(line: Line): Line {
  const joined: Span[] = [];
  for (const span of line) {
    const last = joined.at(-1);
    if (span.text === '') continue;
    if (last === undefined || !isSameAppearance(last, span)) joined.push(span);
    else joined[joined.length - 1] = { ...last, text: last.text + span.text };
  }
  return joined;
}

/** Removes spaces at the end of a line. */
export function trimLine(line: Line): Line {
  const last = line.findLastIndex(({ text }) => text.trimEnd() !== '');
  return line
    .slice(0, last + 1)
    .map((span, at) => (at < last ? span : { ...span, text: span.text.trimEnd() }));
}

/**
 * Matches the supported escape sequences: SGR and hyperlinks. Other sequences are shown as text.
 */
const escapeSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are made of these
  /\u001b\[([\d;:]*)m|\u001b\]8;[^;\u0000-\u001f\u007f-\u009f]*;([^\u0000-\u001f\u007f-\u009f]*)(?:\u0007|\u001b\\)/g;
/**
 * Maximum length of a span. So a caller that reads only the start of a text does not parse all of
 * it.
 */
const maxSpanLength = 1024;

/** Parses styled text into spans. */
export function* parseAnsi(text: string): Generator<Span> {
  let style: Style = plain;
  let link: string | undefined;
  let at = 0;
  for (const match of text.matchAll(escapeSequence)) {
    for (const piece of pieces(text, at, match.index)) yield { text: piece, style, link };
    at = match.index + match[0].length;
    if (match[1] !== undefined) style = applyCodes(style, match[1]);
    else link = match[2] === '' ? undefined : match[2];
  }
  for (const piece of pieces(text, at, text.length)) yield { text: piece, style, link };
}

function* pieces(text: string, from: number, to: number): Generator<string> {
  for (let at = from; at < to; ) {
    const end = pieceEnd(text, at, to);
    yield expandTabs(printable(text.slice(at, end)));
    at = end;
  }
}

/**
 * Returns the end of the next piece. If possible, the end is before a letter or a space, so that no
 * character is split.
 */
function pieceEnd(text: string, from: number, to: number): number {
  if (to - from <= maxSpanLength) return to;
  const near = text.slice(from + maxSpanLength, from + maxSpanLength + 64).search(/[\w ]/);
  return from + maxSpanLength + Math.max(near, 0);
}

/** Matches one SGR code. The colors 38;5;n and 38;2;r;g;b count as one code each. */
const sgrCode = /[345]8[;:](?:5[;:]\d+|2[;:]\d*(?:[;:]\d+){2,3})|\d+/g;

function applyCodes(style: Style, codes: string): Style {
  if (codes === '') return plain;
  let now = style;
  for (const next of codes.match(sgrCode) ?? []) {
    const isOff = /^(?:2[2-9]|[345]9|5[45])$/.test(next);
    if (Number(next) === 0) now = plain;
    else if (isOff) now = now.filter((on) => offCode(on) !== next);
    else now = joinStyles(now, [next]);
  }
  return now;
}
