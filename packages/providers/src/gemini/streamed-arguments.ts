import type { JsonObject } from '@millrace/core';
import { textIn } from '../json/fields.ts';
import { ArgumentValue, type Leaf, type PathStep, parsePath } from './argument-value.ts';

/** What is missing of the arguments at their end, or what they are instead of what was written. */
type ArgumentsEnd = { readonly append: string } | { readonly replace: string };

/** `partialArgs`: values by JSON path, texts in pieces. */
export class StreamedArguments {
  readonly #value = new ArgumentValue();
  readonly #text = new ArgumentText();
  /**
   * Text is written as long as each path follows the one before; one that goes back is only gathered,
   * and the whole is written at the end. Paths that contradict each other are the model's mistake.
   */
  #state: 'writing' | 'gathering' | 'broken' = 'writing';
  #path = '';
  #steps: readonly PathStep[] = [];

  /** They begin with this, in one piece. */
  setAll(args: JsonObject): void {
    if (Object.keys(args).length === 0) return;
    this.#value.setAll(args);
    if (this.#state === 'writing') this.#state = 'gathering';
  }

  /** Takes one piece, and gives the text that it adds. */
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

  /** Broken ones are left open: they are no JSON, so nobody runs them, and the model hears of it. */
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

  /** Does the path lead to a place that was not written yet? */
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

/** Writes arguments as JSON text while they come, so that nothing of it has to be taken back. */
class ArgumentText {
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
