import type { JsonObject } from '@millrace/core';
import { textIn } from '../json/fields.ts';
import { ArgumentText } from './argument-text.ts';
import { ArgumentValue, type Leaf } from './argument-value.ts';
import { type PathStep, parsePath } from './json-path.ts';

/** What is missing of the arguments at their end, or what they are instead of what was written. */
export type ArgumentsEnd = { readonly append: string } | { readonly replace: string };

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
  give(args: JsonObject): void {
    if (Object.keys(args).length === 0) return;
    this.#value.give(args);
    if (this.#state === 'writing') this.#state = 'gathering';
  }

  /** Takes one piece, and gives the text that it adds. */
  add(partial: JsonObject): string {
    const leaf = leafOf(partial);
    if (leaf === undefined || this.#state === 'broken') return '';
    const isSamePath = this.#follow(textIn(partial, 'jsonPath') ?? '');
    const isMore = isSamePath && typeof leaf === 'string' && this.#text.isInString;
    const canWrite = isMore || this.#isAhead();
    if (!this.#value.put(this.#steps, leaf)) this.#state = 'broken';
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

  #follow(path: string): boolean {
    if (path === this.#path) return true;
    this.#path = path;
    this.#steps = parsePath(path) ?? [];
    return false;
  }

  /** Does the path lead to a place that was not written yet? */
  #isAhead(): boolean {
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
