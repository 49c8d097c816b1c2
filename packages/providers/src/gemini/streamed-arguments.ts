import type { JsonObject } from '@millrace/core';
import { textIn } from '../json/fields.ts';
import { ArgumentValue, type Leaf, type PathStep, parsePath } from './argument-value.ts';

/** The text to append at the end, or the text that replaces the whole text written before. */
type ArgumentsEnd = { readonly append: string } | { readonly replace: string };

/** Reads the `partialArgs` of a call, which are values with JSON paths. Strings arrive in several pieces. */
export class StreamedArguments {
  readonly #value = new ArgumentValue();
  readonly #text = new ArgumentText();
  /**
   * `writing`: each path follows the previous one, so its text is written immediately. `gathering`: a path
   * returned to an earlier position, so the whole text is written at the end. `broken`: two paths contradict
   * each other, which is an error of the model.
   */
  #state: 'writing' | 'gathering' | 'broken' = 'writing';
  #path = '';
  #steps: readonly PathStep[] = [];

  /** Sets arguments that arrive complete. */
  setAll(args: JsonObject): void {
    if (Object.keys(args).length === 0) return;
    this.#value.setAll(args);
    if (this.#state === 'writing') this.#state = 'gathering';
  }

  /** Adds one piece and returns the text to append. */
  add(partial: JsonObject): string {
    const leaf = leafOf(partial);
    if (leaf === undefined || this.#state === 'broken') return '';
    const isSamePath = this.#setPath(textIn(partial, 'jsonPath') ?? '');
    const isMore = isSamePath && typeof leaf === 'string' && this.#text.isInString;
    const canWrite = isMore || this.#isNewPosition();
    if (!this.#value.setOrAppend(this.#steps, leaf)) this.#state = 'broken';
    else if (!canWrite && this.#state === 'writing') this.#state = 'gathering';
    if (this.#state !== 'writing') return '';
    return isMore ? this.#text.more(leaf) : this.#text.value(this.#steps, leaf);
  }

  /**
   * Ends the arguments. Contradictory arguments are not closed, so they are invalid JSON. Such a call never
   * runs, and the model gets an error.
   */
  end(): ArgumentsEnd {
    switch (this.#state) {
      case 'writing':
        return { append: this.#text.end() };
      case 'gathering':
        return { replace: this.#value.json };
      case 'broken':
        return { append: this.#text.hasBegun ? '' : '{' };
    }
  }

  #setPath(path: string): boolean {
    if (path === this.#path) return true;
    this.#path = path;
    this.#steps = parsePath(path) ?? [];
    return false;
  }

  /** Returns whether the path leads to a position that has not been written yet. */
  #isNewPosition(): boolean {
    const shared = this.#text.sharedSteps(this.#steps);
    return !this.#value.has(this.#steps.slice(0, shared + 1));
  }
}

function leafOf(partial: JsonObject): Leaf | undefined {
  const { stringValue, numberValue, boolValue } = partial;
  if (typeof stringValue === 'string') return stringValue;
  if (typeof numberValue === 'number') return numberValue;
  if (typeof boolValue === 'boolean') return boolValue;
  return 'nullValue' in partial ? null : undefined;
}

interface OpenContainer {
  readonly step: PathStep;
  readonly isArray: boolean;
  count: number;
}

/** Writes arguments as JSON text while they arrive. Text that is already written never changes. */
class ArgumentText {
  /** The open containers, starting with the root. Empty until the first value is written. */
  readonly #open: OpenContainer[] = [];
  #isInString = false;
  /** A high surrogate whose low surrogate has not arrived yet. */
  #held = '';

  get hasBegun(): boolean {
    return this.#open.length > 0;
  }

  get isInString(): boolean {
    return this.#isInString;
  }

  /** Returns how many steps of the path lead through open containers. */
  sharedSteps(path: readonly PathStep[]): number {
    const most = Math.min(this.#open.length - 1, path.length - 1);
    for (let depth = 0; depth < most; depth++) {
      if (this.#open[depth + 1]?.step !== path[depth]) return depth;
    }
    return Math.max(most, 0);
  }

  /** Returns the text that starts a new value. A string stays open, because more text may follow. */
  value(path: readonly PathStep[], leaf: Leaf): string {
    const shared = this.sharedSteps(path);
    let text = this.#endString() + (this.hasBegun ? this.#closeDownTo(shared + 1) : this.#root());
    for (let depth = shared; depth < path.length; depth++) text += this.#enter(path, depth);
    if (typeof leaf !== 'string') return text + JSON.stringify(leaf);
    this.#isInString = true;
    return `${text}"${this.more(leaf)}`;
  }

  /** Returns the text that continues the open string. */
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

  /** Returns the comma before an element, plus `null` for each skipped element of an array. */
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
