/** What a block stands in. */
export type Container =
  | { readonly kind: 'quote' }
  | {
      readonly kind: 'item';
      /** As in `3.` or `3)`; of a list without numbers, a bullet. */
      readonly number?: string | undefined;
      /** Whether this block is the item's first, beside which its marker stands. */
      readonly opens: boolean;
    };

interface Place {
  /** The outermost first. */
  readonly within: readonly Container[];
  /** With an empty line before it: of how many containers that line is a part. */
  readonly gap?: number | undefined;
}

/** Source text that no text after it changes the meaning of. */
export type Block = Place & BlockContent;

/** With `isRest`, it goes on with the block before it. */
export type BlockContent =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string; readonly isRest: boolean }
  | { readonly kind: 'table'; readonly rows: readonly string[]; readonly isRest: boolean }
  | { readonly kind: 'html_line'; readonly text: string; readonly isRest: boolean }
  | { readonly kind: 'code_open'; readonly info: string }
  | CodeLine
  | { readonly kind: 'code_close' }
  | { readonly kind: 'rule' };

export interface CodeLine {
  readonly kind: 'code_line';
  readonly text: string;
  /** It is the rest of a line that was too long to be read at once. */
  readonly isCut: boolean;
}
