import { printable } from '../../text/cells/printable.ts';

/** How a part of a line looks. None of it is needed to understand the line: terminals without colour show the same. */
type SpanStyle = 'plain' | 'dim' | 'bold' | 'accent' | 'cursor';

export interface Span {
  readonly text: string;
  readonly style: SpanStyle;
}

/** A row of the screen, no wider than it may be. */
export type StyledLine = readonly Span[];

export function span(text: string, style: SpanStyle = 'plain'): Span {
  return { text, style };
}

/** On one line, with nothing that steers a terminal: names of files can have anything in them. */
export function oneLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, ' ');
}
