import type { JsonObject } from '@millrace/core';

/** The API takes no more of them in one request. */
const maxPoints = 4;

/** Thinking cannot carry one. */
const uncacheable: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/** Where the provider may keep what it has read so far: noted block by block, then written on some. */
export class CachePoints {
  readonly #noted: JsonObject[] = [];
  readonly #control: JsonObject;

  constructor(isLongLived: boolean) {
    this.#control = { type: 'ephemeral', ...(isLongLived ? { ttl: '1h' } : {}) };
  }

  /** Up to and including these blocks. */
  noteEnd(blocks: readonly JsonObject[]): void {
    const last = blocks.findLast(({ type }) => !uncacheable.has(type));
    if (last !== undefined) this.#noted.push(last);
  }

  /** The blocks with their marks. The first point stays, which other sessions share, and the last ones. */
  mark(blocks: readonly JsonObject[]): readonly JsonObject[] {
    const kept = this.#kept();
    return blocks.map((block) =>
      kept.has(block) ? { ...block, cache_control: this.#control } : block,
    );
  }

  #kept(): ReadonlySet<JsonObject> {
    if (this.#noted.length <= maxPoints) return new Set(this.#noted);
    return new Set([...this.#noted.slice(0, 1), ...this.#noted.slice(1 - maxPoints)]);
  }
}
