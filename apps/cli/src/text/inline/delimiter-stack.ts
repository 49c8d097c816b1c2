import type { OnWork } from '../code/highlight.ts';
import type { DelimiterRun } from './delimiter-run.ts';
import type { Mark } from './inline-token.ts';

/**
 * The runs that have not found their other end. It is CommonMark's way to pair them: a run that
 * can close looks back for one that can open, and what was looked at in vain is not looked at again.
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

  /** Pairs all runs after this one; what stays alone is text. */
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

  /** The run to look at next. */
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
  // So that in `*a**b*` the two in the middle are text.
  const isUnclear = opener.canClose || closer.canOpen;
  const isMultiple = opener.length % 3 === 0 && closer.length % 3 === 0;
  return !isUnclear || isMultiple || (opener.length + closer.length) % 3 !== 0;
}

function markOf(run: DelimiterRun, used: number): 'strong' | 'emphasis' | 'strike' {
  if (run.char === '~') return 'strike';
  return used === 2 ? 'strong' : 'emphasis';
}
