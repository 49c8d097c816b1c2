/** Changes the text of one part as it streams. What it holds back it gives at the end. */
export interface PartChange {
  chunk(text: string): string;
  /** The part ends, whole or cut off. */
  end?(): string;
}

/**
 * What becomes of text: a function of each chunk, or one that makes a `PartChange` for each part.
 * A function of chunks does not see a word that is split over two of them.
 */
export type TextChange = ((chunk: string) => string) | ((firstChunk: string) => PartChange);

/** The changed text of one part, without ever half of a surrogate pair. */
export class ChangedText {
  readonly #change: TextChange;
  #part: PartChange | undefined;
  /** A high surrogate whose partner may follow. */
  #held = '';

  constructor(change: TextChange) {
    this.#change = change;
  }

  chunk(text: string): string {
    if (this.#part !== undefined) return this.#paired(this.#part.chunk(text));
    const changed = this.#change(text);
    if (typeof changed === 'string') return this.#paired(changed);
    this.#part = changed;
    return this.#paired(changed.chunk(text));
  }

  end(): string {
    const text = this.#held + (this.#part?.end?.() ?? '');
    this.#held = '';
    return text.toWellFormed();
  }

  #paired(chunk: string): string {
    const text = this.#held + chunk;
    const cut = endsInHalf(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    return text.slice(0, cut).toWellFormed();
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

export function changeWhole(text: string, change: TextChange): string {
  const changed = new ChangedText(change);
  return changed.chunk(text) + changed.end();
}
