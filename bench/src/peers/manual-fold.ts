import type { RunResult } from '../candidate.ts';

/** Appends deltas. A user of a library that does not fold must write this code. */
export class ManualFold {
  #text = '';
  readonly #calls = new Map<string | number, string>();

  addText(delta: string): void {
    this.#text += delta;
  }

  addArguments(call: string | number, delta: string): void {
    this.#calls.set(call, (this.#calls.get(call) ?? '') + delta);
  }

  get result(): RunResult {
    const characters = this.#calls
      .values()
      .reduce((sum, call) => sum + call.length, this.#text.length);
    return { characters, streamed: characters };
  }
}
