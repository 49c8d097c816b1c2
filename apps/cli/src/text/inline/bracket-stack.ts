import type { DelimiterRun } from './delimiter-run.ts';
import type { Slot } from './inline-token.ts';

export interface Bracket {
  readonly slot: Slot;
  readonly isImage: boolean;
  /** The last run of delimiters before it: those after it are inside. */
  readonly below: DelimiterRun | undefined;
}

/** The `[` and `![` that are still open. */
export class BracketStack {
  readonly #open: Bracket[] = [];
  /** No link is inside of another: up to here, only images can begin. */
  #withoutLinks = 0;

  push(bracket: Bracket): void {
    this.#open.push(bracket);
  }

  /** The bracket that this one closes, unless it can begin nothing. */
  pop(): Bracket | undefined {
    const bracket = this.#open.pop();
    const isForbidden = this.#open.length < this.#withoutLinks && bracket?.isImage === false;
    this.#withoutLinks = Math.min(this.#withoutLinks, this.#open.length);
    return isForbidden ? undefined : bracket;
  }

  forbidLinks(): void {
    this.#withoutLinks = this.#open.length;
  }
}
