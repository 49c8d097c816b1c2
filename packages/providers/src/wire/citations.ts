import type { JsonObject, JsonValue } from '@millrace/core';

/** The source of a statement in the answer. */
export interface Citation {
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  /** The citation in the provider's format: positions, quotes, ids. */
  readonly raw: JsonValue;
}

/** Far more than any answer has. */
const maxCitations = 1024;

/** The citations of one text, without duplicates. Providers repeat them from chunk to chunk. */
export class Citations {
  readonly #byKey = new Map<string, JsonObject>();

  /** Returns true if the citation is new. */
  add({ url, title, raw }: Citation): boolean {
    const key = typeof raw === 'string' ? raw : JSON.stringify(raw);
    if (this.#byKey.has(key) || this.#byKey.size >= maxCitations) return false;
    const known = {
      ...(url === undefined ? {} : { url }),
      ...(title === undefined ? {} : { title }),
    };
    this.#byKey.set(key, { ...known, raw });
    return true;
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** The citations as metadata of the text. */
  get metadata(): JsonObject {
    return { citations: [...this.#byKey.values()] };
  }
}
