import { setImmediate as nextTurn } from 'node:timers/promises';

/** Where a text was found: the index of its first UTF-16 unit, and its length. */
export interface FoundText {
  readonly at: number;
  readonly length: number;
}

/** The number of UTF-16 units that a search reads before the other work of the process runs. */
const unitsPerTurn = 256 * 1024;

const space = 0x20;

/**
 * Searches texts for one text. Upper and lower case are the same, and any white space matches any other white
 * space. The time of a search grows linearly with the length of the text, even if the text repeats the
 * beginning of what is searched (Knuth-Morris-Pratt). A regular expression would need length × words.
 */
export class TextSearch {
  /** The searched text, folded: in lower case, with one space between words. */
  readonly #wanted: readonly number[];
  /** For each position: how much of the searched text still matches if the next unit does not. */
  readonly #shorter: readonly number[];
  /** The number of units since the last pause. */
  #read = 0;

  constructor(text: string) {
    this.#wanted = [...foldedUnits(text.trim())];
    this.#shorter = shorterMatches(this.#wanted);
  }

  /** Returns the first place in the text, or undefined. Other work of the process runs meanwhile. */
  async find(text: string): Promise<FoundText | undefined> {
    const { length } = this.#wanted;
    // The indexes of the last compared units. The start of a match cannot be computed from its length, because
    // white space of any length matches one space.
    const places = new Int32Array(length);
    let [matched, count, wasSpace] = [0, 0, false];
    for (let at = 0; at < text.length; at++) {
      if (++this.#read >= unitsPerTurn) {
        this.#read = 0;
        await nextTurn();
      }
      const unit = folded(text.charCodeAt(at));
      if (unit === space && wasSpace) continue;
      wasSpace = unit === space;
      places[count++ % length] = at;
      matched = this.#next(matched, unit);
      if (matched < length) continue;
      const start = places[(count - length) % length] ?? 0;
      return { at: start, length: at + 1 - start };
    }
    return undefined;
  }

  /** Returns how many units match after one more unit. */
  #next(matched: number, unit: number): number {
    let now = matched;
    while (now > 0 && this.#wanted[now] !== unit) now = this.#shorter[now - 1] ?? 0;
    return this.#wanted[now] === unit ? now + 1 : 0;
  }
}

/** Returns, for each start of the text, the length of its longest end that is also its start. */
function shorterMatches(wanted: readonly number[]): readonly number[] {
  const shorter = [0];
  let matched = 0;
  for (const unit of wanted.slice(1)) {
    while (matched > 0 && wanted[matched] !== unit) matched = shorter[matched - 1] ?? 0;
    if (wanted[matched] === unit) matched++;
    shorter.push(matched);
  }
  return shorter;
}

function* foldedUnits(text: string): Generator<number> {
  let wasSpace = false;
  for (let at = 0; at < text.length; at++) {
    const unit = folded(text.charCodeAt(at));
    if (unit !== space || !wasSpace) yield unit;
    wasSpace = unit === space;
  }
}

/** The folded form of each UTF-16 unit. The table is built at the first search. */
let table: Uint16Array | undefined;

/**
 * Returns a unit in lower case, or a space for white space. A letter whose lower case is not one unit stays
 * as it is.
 */
function folded(unit: number): number {
  table ??= Uint16Array.from({ length: 0x1_0000 }, (_, code) => {
    const letter = String.fromCharCode(code);
    if (/\s/u.test(letter)) return space;
    const lower = letter.toLowerCase();
    return lower.length === 1 ? lower.charCodeAt(0) : code;
  });
  return table[unit] ?? unit;
}
