import { type JsonObject, noUsage, type Usage } from '@millrace/core';
import { countIn } from '../json/fields.ts';

const counts = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'cachedContentTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
] as const;

type Count = (typeof counts)[number];

/** The last of each figure: events repeat them, and some name only the traffic. */
export class UsageTally {
  readonly #figures = new Map<Count, number>();

  /** True where there was any figure in it. */
  add(usage: JsonObject): boolean {
    let isSaid = false;
    for (const name of counts) {
      const count = countIn(usage, name);
      if (count === undefined) continue;
      this.#figures.set(name, count);
      isSaid = true;
    }
    return isSaid;
  }

  /** Undefined where nothing was said. */
  usage(isFinal: boolean): Usage | undefined {
    if (this.#figures.size === 0) return undefined;
    const reasoning = this.#count('thoughtsTokenCount');
    return {
      ...noUsage,
      // What hosted tools feed to the model is beside the prompt; what is cached is a part of it.
      input: this.#count('promptTokenCount') + this.#count('toolUsePromptTokenCount'),
      output: this.#count('candidatesTokenCount') + reasoning,
      cacheRead: this.#count('cachedContentTokenCount'),
      reasoning,
      estimated: !isFinal,
    };
  }

  #count(name: Count): number {
    return this.#figures.get(name) ?? 0;
  }
}
