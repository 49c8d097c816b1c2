import { type Style, sameStyle, switchesOf } from '../theme/style.ts';

/** Text of one look. It is printable, and its line breaks are newlines. */
export interface Span {
  readonly text: string;
  readonly style: Style;
  /** Where it leads to, if the terminal makes links. */
  readonly link?: string | undefined;
}

export type Line = readonly Span[];

function sameLook(a: Span, b: Span): boolean {
  return a.link === b.link && sameStyle(a.style, b.style);
}

/** A line as it is written. It ends as it began, so lines can be cut out and put anywhere. */
export function paintLine(line: Line): string {
  return joinLooks(line).map(paint).join('');
}

function paint({ text, style, link }: Span): string {
  const { on, off } = switchesOf(style);
  const painted = `${on}${text}${off}`;
  return link === undefined ? painted : `\u001b]8;;${link}\u0007${painted}\u001b]8;;\u0007`;
}

/** Neighbours of one look as one span, so that no switch is written for nothing. */
function joinLooks(line: Line): Line {
  const joined: Span[] = [];
  for (const span of line) {
    const last = joined.at(-1);
    if (span.text === '') continue;
    if (last === undefined || !sameLook(last, span)) joined.push(span);
    else joined[joined.length - 1] = { ...last, text: last.text + span.text };
  }
  return joined;
}

/** Without spaces at its end. */
export function trimLine(line: Line): Line {
  const last = line.findLastIndex(({ text }) => text.trimEnd() !== '');
  return line
    .slice(0, last + 1)
    .map((span, at) => (at < last ? span : { ...span, text: span.text.trimEnd() }));
}
