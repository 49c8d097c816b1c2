import { printable } from '../../text/cells/printable.ts';

/**
 * The style of a span. A line must be understandable without styles, because some terminals show no
 * colours.
 */
type SpanStyle = 'plain' | 'dim' | 'bold' | 'accent' | 'cursor';

export interface Span {
  readonly text: string;
  readonly style: SpanStyle;
}

/** A row of the screen that fits its width. */
export type StyledLine = readonly Span[];

export function span(text: string, style: SpanStyle = 'plain'): Span {
  return { text, style };
}

/**
 * Returns a text as one line without control sequences, because file names can contain anything.
 */
export function singleLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, ' ');
}
