import { alternativeName, type DeltaWriter, type JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { type LogprobEntry, Logprobs } from './logprobs.ts';

/** Maximum number of answers that are collected. No provider returns this many answers. */
const maxAnswers = 128;

/** Maximum length of one answer, in UTF-16 units. */
const maxLength = 2 ** 20;

/**
 * Collects all answers of a response except the first. At the end of the response, they become custom parts.
 */
export class Alternatives {
  readonly #answers = new Map<number, Alternative>();
  readonly #expected: number;

  constructor({ candidates = 1 }: ModelRequest) {
    this.#expected = candidates - 1;
  }

  /** True if all requested answers arrived and are complete. */
  get areFinished(): boolean {
    if (this.#answers.size < this.#expected) return false;
    for (const { stop, isEmpty } of this.#answers.values())
      if (stop === undefined && !isEmpty) return false;
    return true;
  }

  /**
   * Returns the answer with this index, and creates it if it is new. Returns undefined if there are
   * too many answers.
   */
  at(index: number): Alternative | undefined {
    const known = this.#answers.get(index);
    if (known !== undefined) return known;
    if (this.#answers.size >= maxAnswers) return undefined;
    const answer = new Alternative();
    this.#answers.set(index, answer);
    return answer;
  }

  /** Writes one part for each answer, in the order of their indices. */
  write(writer: DeltaWriter): void {
    const sorted = [...this.#answers].sort(([a], [b]) => a - b);
    for (const [index, answer] of sorted) {
      if (answer.isEmpty) continue;
      writer.whole({ kind: 'custom', name: alternativeName, ...answer.content(index) });
    }
  }
}

interface Call {
  name: string;
  arguments: string;
}

/** One answer while it streams. */
export class Alternative {
  readonly #calls = new Map<string, Call>();
  readonly #logprobs = new Logprobs();
  #text = '';
  #reasoning = '';
  #left = maxLength;
  stop: string | undefined;

  get isEmpty(): boolean {
    return this.stop === undefined && this.#left === maxLength;
  }

  /** The length of the collected text, in UTF-16 units. */
  get length(): number {
    return maxLength - this.#left;
  }

  text(chunk: string): void {
    this.#text += this.#taken(chunk);
  }

  reasoning(chunk: string): void {
    this.#reasoning += this.#taken(chunk);
  }

  /**
   * Adds a piece of a tool call. `key` identifies the call within the answer. The name and the arguments can
   * arrive in several pieces.
   */
  call(key: string, name: string | undefined, chunk: string): void {
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = { name: '', arguments: '' };
      this.#calls.set(key, call);
    }
    if (name !== undefined && isNamePiece(call.name, name, call.arguments !== ''))
      call.name += this.#taken(name);
    call.arguments += this.#taken(chunk);
  }

  logprobs(entries: readonly LogprobEntry[]): void {
    this.#logprobs.add(entries);
  }

  content(index: number): { readonly value: JsonObject; readonly metadata?: JsonObject } {
    const calls = [...this.#calls.values()].map((call) => ({ ...call }));
    const value = {
      index,
      text: this.#text.toWellFormed(),
      ...(this.#reasoning === '' ? {} : { reasoning: this.#reasoning.toWellFormed() }),
      ...(calls.length === 0 ? {} : { calls }),
      ...(this.stop === undefined ? {} : { stop: this.stop }),
      ...(this.#left > 0 ? {} : { isCut: true }),
    };
    return this.#logprobs.isEmpty ? { value } : { value, metadata: this.#logprobs.metadata };
  }

  #taken(chunk: string): string {
    const taken = chunk.slice(0, this.#left);
    this.#left -= taken.length;
    return taken;
  }
}

/**
 * Returns whether a received name is the next piece of a call's name. Servers may send a name complete, in
 * pieces, repeatedly, or after the first arguments. A name that equals the name received before is a
 * repetition. A name that arrives with arguments is complete.
 */
export function isNamePiece(before: string, received: string, hasArguments: boolean): boolean {
  return before === '' || (!hasArguments && received !== before);
}
