import type { Outcome } from '../contestant.ts';

/** What a user has to append himself where a library hands on deltas and folds nothing. */
export class ByHand {
  #text = '';
  readonly #calls = new Map<string | number, string>();

  addText(delta: string): void {
    this.#text += delta;
  }

  addArguments(call: string | number, delta: string): void {
    this.#calls.set(call, (this.#calls.get(call) ?? '') + delta);
  }

  get outcome(): Outcome {
    const characters = this.#calls
      .values()
      .reduce((sum, call) => sum + call.length, this.#text.length);
    return { characters, heard: characters };
  }
}
