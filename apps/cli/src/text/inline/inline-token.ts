/** What text stands in. Marks nest, and open and close at different tokens. */
export type Mark =
  | { readonly type: 'strong' | 'emphasis' | 'strike' }
  | { readonly type: 'link' | 'image'; readonly address: string };

export type InlineToken =
  | { readonly type: 'text' | 'code' | 'html'; readonly text: string }
  | { readonly type: 'break' }
  | { readonly type: 'open' | 'close'; readonly mark: Mark };

/** A place in the text: what is here, what ended just before it, and what begins just after. */
export interface Slot {
  token: InlineToken | undefined;
  readonly closes: Mark[];
  /** The innermost first. */
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
