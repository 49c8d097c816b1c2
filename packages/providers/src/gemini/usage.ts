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

/** Keeps the last value of each count. Several events repeat the counts, and some events have no counts. */
export class UsageTally {
  readonly #figures = new Map<Count, number>();
  /** The way in which Vertex AI bills the request: on demand, or from reserved throughput. */
  trafficType: string | undefined;

  /** Adds a report. Returns whether the report contains any count. */
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

  /** Returns the usage, or undefined if no count was reported. */
  usage(isFinal: boolean): Usage | undefined {
    if (this.#figures.size === 0) return undefined;
    const reasoning = this.#count('thoughtsTokenCount');
    return {
      ...noUsage,
      // `promptTokenCount` includes cached tokens, but it does not include the input of hosted tools.
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
