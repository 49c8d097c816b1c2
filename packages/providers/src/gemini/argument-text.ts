import type { Leaf } from './argument-value.ts';
import type { PathStep } from './json-path.ts';

interface OpenContainer {
  readonly step: PathStep;
  readonly isArray: boolean;
  count: number;
}

/** Writes arguments as JSON text while they come, so that nothing of it has to be taken back. */
export class ArgumentText {
  /** The root first. Empty until something was written. */
  readonly #open: OpenContainer[] = [];
  #isInString = false;
  /** A high surrogate whose partner has not come yet. */
  #held = '';

  get hasBegun(): boolean {
    return this.#open.length > 0;
  }

  get isInString(): boolean {
    return this.#isInString;
  }

  /** How many steps of the path lead through what is still open. */
  sharedSteps(path: readonly PathStep[]): number {
    const most = Math.min(this.#open.length - 1, path.length - 1);
    for (let depth = 0; depth < most; depth++) {
      if (this.#open[depth + 1]?.step !== path[depth]) return depth;
    }
    return Math.max(most, 0);
  }

  /** A new value. Text stays open: more of it may come. */
  value(path: readonly PathStep[], leaf: Leaf): string {
    const shared = this.sharedSteps(path);
    let text = this.#endString() + (this.hasBegun ? this.#closeDownTo(shared + 1) : this.#root());
    for (let depth = shared; depth < path.length; depth++) text += this.#enter(path, depth);
    if (typeof leaf !== 'string') return text + JSON.stringify(leaf);
    this.#isInString = true;
    return `${text}"${this.more(leaf)}`;
  }

  /** More of the text that is open. */
  more(piece: string): string {
    const whole = this.#held + piece;
    const last = whole.charCodeAt(whole.length - 1);
    const cut = last >= 0xd800 && last <= 0xdbff ? whole.length - 1 : whole.length;
    this.#held = whole.slice(cut);
    return JSON.stringify(whole.slice(0, cut).toWellFormed()).slice(1, -1);
  }

  end(): string {
    return this.#endString() + this.#closeDownTo(0);
  }

  #root(): string {
    this.#open.push({ step: '', isArray: false, count: 0 });
    return '{';
  }

  #enter(path: readonly PathStep[], depth: number): string {
    const step = path[depth] ?? '';
    const text =
      this.#separator(step) + (typeof step === 'string' ? `${JSON.stringify(step)}:` : '');
    if (depth === path.length - 1) return text;
    const isArray = typeof path[depth + 1] === 'number';
    this.#open.push({ step, isArray, count: 0 });
    return text + (isArray ? '[' : '{');
  }

  /** The comma, and what stands for elements of an array that no path named. */
  #separator(step: PathStep): string {
    const parent = this.#open.at(-1);
    if (parent === undefined) return '';
    const comma = parent.count > 0 ? ',' : '';
    const skipped = typeof step === 'number' ? step - parent.count : 0;
    parent.count += skipped + 1;
    return comma + 'null,'.repeat(skipped);
  }

  #endString(): string {
    if (!this.#isInString) return '';
    const text = this.#held === '' ? '"' : '\uFFFD"';
    this.#isInString = false;
    this.#held = '';
    return text;
  }

  #closeDownTo(depth: number): string {
    let text = '';
    while (this.#open.length > depth) text += this.#open.pop()?.isArray ? ']' : '}';
    return text;
  }
}
