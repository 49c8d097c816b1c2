import type { OnWork } from './block.ts';
import type { Mark, Slot } from './inline-token.ts';

/** The characters that mark emphasis. */
export type DelimiterChar = '*' | '_' | '~';

/** A run of `*`, `_` or `~` that can start or end emphasis. */
export interface DelimiterRun {
  readonly char: DelimiterChar;
  readonly slot: Slot;
  /** The position of this run among all runs. Later runs have higher numbers. */
  readonly order: number;
  /** The number of characters of the run in the source. */
  readonly length: number;
  readonly canOpen: boolean;
  readonly canClose: boolean;
  /** The number of characters that are not used for emphasis yet. */
  left: number;
  before: DelimiterRun | undefined;
  after: DelimiterRun | undefined;
}

/**
 * The delimiter runs that have no partner yet. The class pairs them with the algorithm of CommonMark: for
 * each run that can close emphasis, it searches backwards for a run that can open it. The class stores where
 * a search failed, so that later searches stop there.
 */
export class DelimiterStack {
  readonly #onWork: OnWork | undefined;
  #first: DelimiterRun | undefined;
  #last: DelimiterRun | undefined;

  constructor(onWork?: OnWork) {
    this.#onWork = onWork;
  }

  get last(): DelimiterRun | undefined {
    return this.#last;
  }

  push(run: DelimiterRun): void {
    run.before = this.#last;
    if (this.#last === undefined) this.#first = run;
    else this.#last.after = run;
    this.#last = run;
  }

  /** Pairs all runs after `bottom`. Runs without a partner become text. */
  pair(bottom: DelimiterRun | undefined): void {
    const searched = new Map<string, number>();
    const lowest = bottom?.order ?? -1;
    let closer = bottom === undefined ? this.#first : bottom.after;
    while (closer !== undefined) {
      this.#onWork?.(1);
      closer = closer.canClose ? this.#close(closer, lowest, searched) : closer.after;
    }
    while (this.#last !== bottom && this.#last !== undefined) this.#remove(this.#last);
  }

  /** Finds a partner for a run that can close emphasis. Returns the run to check next. */
  #close(
    closer: DelimiterRun,
    lowest: number,
    searched: Map<string, number>,
  ): DelimiterRun | undefined {
    const kind = `${closer.char}${closer.canOpen}${closer.length % 3}`;
    const opener = this.#openerOf(closer, searched.get(kind) ?? lowest);
    if (opener !== undefined) return this.#join(opener, closer);
    searched.set(kind, closer.order - 1);
    const next = closer.after;
    if (!closer.canOpen) this.#remove(closer);
    return next;
  }

  #openerOf(closer: DelimiterRun, limit: number): DelimiterRun | undefined {
    let run = closer.before;
    while (run !== undefined && run.order > limit) {
      this.#onWork?.(1);
      if (arePair(run, closer)) return run;
      run = run.before;
    }
    return undefined;
  }

  #join(opener: DelimiterRun, closer: DelimiterRun): DelimiterRun | undefined {
    while (closer.before !== opener && closer.before !== undefined) this.#remove(closer.before);
    const used = opener.left >= 2 && closer.left >= 2 ? 2 : 1;
    const mark: Mark = { type: markOf(closer, used) };
    opener.slot.opens.push(mark);
    closer.slot.closes.push(mark);
    for (const run of [opener, closer]) {
      run.left -= used;
      run.slot.token = { type: 'text', text: run.char.repeat(run.left) };
    }
    if (opener.left === 0) this.#remove(opener);
    if (closer.left > 0) return closer;
    const next = closer.after;
    this.#remove(closer);
    return next;
  }

  #remove(run: DelimiterRun): void {
    if (run.before === undefined) this.#first = run.after;
    else run.before.after = run.after;
    if (run.after === undefined) this.#last = run.before;
    else run.after.before = run.before;
  }
}

function arePair(opener: DelimiterRun, closer: DelimiterRun): boolean {
  if (opener.char !== closer.char || !opener.canOpen) return false;
  if (closer.char === '~') return opener.length === closer.length;
  // This is CommonMark's rule about multiples of 3. With this rule, the two characters in the middle of
  // `*a**b*` are text.
  const isUnclear = opener.canClose || closer.canOpen;
  const isMultiple = opener.length % 3 === 0 && closer.length % 3 === 0;
  return !isUnclear || isMultiple || (opener.length + closer.length) % 3 !== 0;
}

function markOf(run: DelimiterRun, used: number): 'strong' | 'emphasis' | 'strike' {
  if (run.char === '~') return 'strike';
  return used === 2 ? 'strong' : 'emphasis';
}

const space = /^\s$/u;
const punctuation = /^[\p{P}\p{S}]$/u;

/**
 * Returns whether a run can start emphasis, and whether it can end emphasis. This depends on the characters
 * before and after the run.
 */
export function flanking(
  source: string,
  from: number,
  to: number,
): Pick<DelimiterRun, 'canOpen' | 'canClose'> {
  const char = source.charAt(from);
  const before = from === 0 ? ' ' : lastCharacter(source, from);
  const after = to >= source.length ? ' ' : String.fromCodePoint(source.codePointAt(to) ?? 32);
  const [spaceBefore, spaceAfter] = [space.test(before), space.test(after)];
  const [pointBefore, pointAfter] = [punctuation.test(before), punctuation.test(after)];
  const left = !spaceAfter && (!pointAfter || spaceBefore || pointBefore);
  const right = !spaceBefore && (!pointBefore || spaceAfter || pointAfter);
  if (char === '_') {
    return { canOpen: left && (!right || pointBefore), canClose: right && (!left || pointAfter) };
  }
  const isTooLong = char === '~' && to - from > 2;
  return { canOpen: left && !isTooLong, canClose: right && !isTooLong };
}

function lastCharacter(source: string, end: number): string {
  const last = source.slice(end - 1, end);
  return /[\udc00-\udfff]/.test(last) ? source.slice(Math.max(0, end - 2), end) : last;
}
