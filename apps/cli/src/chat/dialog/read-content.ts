import type { ChangePreview } from '@millrace/tools';

/** The lines of a request that one drawing of a dialog shows. */
export interface ContentView {
  /** The key of the dialog. */
  readonly key: object | string;
  /** All lines of the content at this width. */
  readonly content: readonly string[];
  /** Index of the first line that is shown. */
  readonly from: number;
  /** Index after the last line that is shown. */
  readonly to: number;
  /** True if the window is too narrow to read the content. Default: false. */
  readonly isTooNarrow?: boolean | undefined;
  /** The preview that the title and the content show. */
  readonly preview?: ChangePreview | undefined;
}

/**
 * Records which lines of a request were on the screen. The user can approve a request only after
 * all lines were shown. If the content or the width changes, all lines must be shown again.
 */
export class ReadContent {
  #content: readonly string[] | undefined;
  #preview: ChangePreview | undefined;
  #isTooNarrow = false;
  #isHidden = false;
  #seenTo = 0;
  #from = 0;
  #pageLength = 1;

  /** The first line to show. */
  get from(): number {
    return this.#from;
  }

  /** The preview that was on the screen. */
  get preview(): ChangePreview | undefined {
    return this.#preview;
  }

  /** True if every line was on the screen. */
  get isComplete(): boolean {
    return (
      this.#content !== undefined && !this.#isTooNarrow && this.#seenTo >= this.#content.length
    );
  }

  /** Number of lines that were not on the screen. */
  get unseen(): number {
    return Math.max(0, (this.#content?.length ?? 0) - this.#seenTo);
  }

  /** Records that the screen no longer shows the request. The lines that were on it stay read. */
  hide(): void {
    this.#isHidden = true;
  }

  /**
   * Records which lines were drawn. Returns true if this changed whether the user can approve, or if the request was
   * hidden before.
   */
  show({ content, from, to, preview, isTooNarrow = false }: ContentView): boolean {
    const wasComplete = this.isComplete;
    // A new preview counts as new content, because it can change the title.
    const isNew =
      this.#content === undefined || this.#preview !== preview || !isSame(this.#content, content);
    const wasHidden = this.#isHidden;
    this.#isHidden = false;
    if (isNew) this.#seenTo = 0;
    this.#content = content;
    this.#preview = preview;
    this.#isTooNarrow = isTooNarrow;
    this.#from = from;
    this.#pageLength = Math.max(1, to - from);
    if (from <= this.#seenTo) this.#seenTo = Math.max(this.#seenTo, to);
    return isNew || wasHidden || this.isComplete !== wasComplete;
  }

  /** Scrolls by pages. It never skips a line that was not on the screen yet. */
  scroll(pages: number): void {
    const last = Math.max(0, (this.#content?.length ?? 0) - this.#pageLength);
    const wanted = this.#from + pages * this.#pageLength;
    this.#from = Math.max(0, Math.min(wanted, last, this.#seenTo));
  }

  /** Marks all lines as shown, because the chat has printed the whole request. */
  showAll(): void {
    this.#seenTo = this.#content?.length ?? 0;
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((line, index) => line === b[index]));
}
