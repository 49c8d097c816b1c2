import type { OnWork } from './block.ts';
import type { MathToken } from './inline-token.ts';

/** The maximum length of a formula. A longer formula is text. */
const maxLength = 4096;

/** The delimiters of formulas, the longest first. */
const delimiters = [
  { open: '$$', close: '$$', isDisplay: true },
  { open: '$', close: '$', isDisplay: false },
  { open: '\\(', close: '\\)', isDisplay: false },
  { open: '\\[', close: '\\]', isDisplay: true },
] as const;

/**
 * Finds formulas in a text. Dollar signs are also used for amounts of money, so a single dollar sign
 * starts a formula only under strict conditions.
 */
export class MathFinder {
  readonly #source: string;
  readonly #onWork: OnWork | undefined;
  /**
   * For each delimiter, the position that the last search found. With it, no part of the text is searched
   * twice.
   */
  readonly #next = new Map<string, number>();

  constructor(source: string, onWork: OnWork | undefined) {
    this.#source = source;
    this.#onWork = onWork;
  }

  /**
   * Returns the formula that starts at a position, or undefined. Each call must have a higher position than
   * the previous call.
   */
  at(start: number): MathToken | undefined {
    const found = delimiters.find(({ open }) => this.#source.startsWith(open, start));
    if (found === undefined) return undefined;
    const { open, close, isDisplay } = found;
    const from = start + open.length;
    const end = open === '$' ? this.#dollarAfter(from) : this.#closeAfter(close, from);
    if (end === undefined || end - from > maxLength) return undefined;
    const text = this.#source.slice(from, end).trim();
    if (text === '' || (open === '$' && !this.#isFormula(start, end))) return undefined;
    return { type: 'math', text, source: this.#source.slice(start, end + close.length), isDisplay };
  }

  #closeAfter(close: string, from: number): number | undefined {
    let end = this.#next.get(close) ?? 0;
    if (end < from) {
      const found = this.#source.indexOf(close, from);
      end = found === -1 ? Number.POSITIVE_INFINITY : found;
      this.#next.set(close, end);
      this.#onWork?.(Math.min(end, this.#source.length) - from);
    }
    return end === Number.POSITIVE_INFINITY ? undefined : end;
  }

  /** Returns the position of the next dollar sign that has no backslash before it. */
  #dollarAfter(from: number): number | undefined {
    let end = this.#closeAfter('$', from);
    while (end !== undefined && this.#source[end - 1] === '\\')
      end = this.#closeAfter('$', end + 1);
    return end;
  }

  /**
   * Returns whether the text between two dollar signs is a formula. It is not a formula if it starts or ends
   * with a space. It is also not a formula if a letter or a digit comes directly before the first sign or
   * directly after the second sign, as in `US$5` and `$5 or $6`.
   */
  #isFormula(start: number, end: number): boolean {
    const inner = this.#source.slice(start + 1, end);
    const hasSpace = /^\s|\s$/.test(inner);
    const before = this.#source.slice(Math.max(0, start - 1), start);
    const after = this.#source.slice(end + 1, end + 2);
    return !hasSpace && !/[\p{L}\d]/u.test(before) && !/[\p{L}\d]/u.test(after);
  }
}
