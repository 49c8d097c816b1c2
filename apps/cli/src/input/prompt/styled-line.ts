import { printable } from '../../text/cells/printable.ts';

/**
 * The style of a span. Lines must be understandable without styles, because some terminals show no
 * colors.
 */
type SpanStyle = 'plain' | 'dim' | 'bold' | 'accent' | 'cursor';

export interface Span {
  readonly text: string;
  readonly style: SpanStyle;
}

/** A row of the screen. It is not wider than the screen. */
export type StyledLine = readonly Span[];

export function span(text: string, style: SpanStyle = 'plain'): Span {
  return { text, style };
}

/** Returns a text as one line without control sequences. File names can contain any characters. */
export function singleLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, ' ');
}
