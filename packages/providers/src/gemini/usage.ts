import { type JsonObject, noUsage, type Usage } from '@millrace/core';
import { countIn, textIn } from '../json/fields.ts';

const counts = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'cachedContentTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
] as const;

type Count = (typeof counts)[number];

/** Keeps the last value of each count. Events repeat them, and some contain no counts. */
export class UsageTally {
  readonly #figures = new Map<Count, number>();
  /** How Vertex AI bills the request: on demand, or from reserved throughput. */
  trafficType: string | undefined;

  /** Returns true if the report contains any count. */
  add(usage: JsonObject): boolean {
    let isSaid = false;
    this.trafficType = textIn(usage, 'trafficType') ?? this.trafficType;
    for (const name of counts) {
      const count = countIn(usage, name);
      if (count === undefined) continue;
      this.#figures.set(name, count);
      isSaid = true;
    }
    return isSaid;
  }

  /** Undefined if nothing was reported. */
  usage(isFinal: boolean): Usage | undefined {
    if (this.#figures.size === 0) return undefined;
    const reasoning = this.#count('thoughtsTokenCount');
    return {
      ...noUsage,
      // The prompt count does not include the input of hosted tools. It does include cached tokens.
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
