import type { Style } from './style.ts';

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
export interface Symbols {
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
