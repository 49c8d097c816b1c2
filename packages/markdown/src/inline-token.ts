/** The formatting of a range of text. Marks can be nested. */
export type Mark =
  | { readonly type: 'strong' | 'emphasis' | 'strike' }
  | {
      readonly type: 'link' | 'image';
      /** The address in the source. It is untrusted, so call `safeLink` before you follow it. */
      readonly address: string;
    };

/** A formula in a text. */
export interface MathToken {
  readonly type: 'math';
  /** The formula in TeX, without its delimiters. It is untrusted. */
  readonly text: string;
  /** The formula with its delimiters, for views that show the source. */
  readonly source: string;
  /** True if the formula is on lines of its own: `$$…$$` or `\[…\]`. */
  readonly isDisplay: boolean;
}

/** A reference to a footnote. */
export interface FootnoteToken {
  readonly type: 'footnote';
  readonly label: string;
  /**
   * The reference in the source, for example `[^1]`. Show it as text if the document has no footnote with
   * this label.
   */
  readonly source: string;
}

/**
 * A part of a paragraph, a heading or a table cell. Each `open` token has a `close` token, and they are
 * properly nested. The text of an `html` token is source text. A view must not interpret it as HTML.
 */
export type InlineToken =
  | { readonly type: 'text' | 'code' | 'html'; readonly text: string }
  | MathToken
  | FootnoteToken
  | {
      readonly type: 'break';
      /** True for an explicit line break. False if only the source line ends here. */
      readonly isHard: boolean;
    }
  | { readonly type: 'open' | 'close'; readonly mark: Mark };

/**
 * A position in the text during parsing. Delimiters at this position can become marks when the parser reads
 * later characters.
 */
export interface Slot {
  token: InlineToken | undefined;
  /** Marks that end before the token. */
  readonly closes: Mark[];
  /** Marks that start after the token, innermost first. */
  readonly opens: Mark[];
}

export function slotOf(token?: InlineToken): Slot {
  return { token, closes: [], opens: [] };
}

export function tokensOf(slots: readonly Slot[]): readonly InlineToken[] {
  return slots.flatMap(({ token, closes, opens }): InlineToken[] => [
    ...closes.map((mark) => ({ type: 'close', mark }) as const),
    ...(token === undefined ? [] : [token]),
    ...opens.toReversed().map((mark) => ({ type: 'open', mark }) as const),
  ]);
}
