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
    const key = keyOf(raw);
    if (this.#byKey.has(key) || this.#byKey.size >= maxCitations) return false;
    const known = {
      ...(url === undefined ? {} : { url }),
      ...(title === undefined ? {} : { title }),
    };
    this.#byKey.set(key, { ...known, raw });
    return true;
  }

  /** The position of a citation in the list, by its original form. -1 if it is not in the list. */
  positionOf(raw: JsonValue): number {
    return [...this.#byKey.keys()].indexOf(keyOf(raw));
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** The citations as metadata of the text. */
  get metadata(): JsonObject {
    return { citations: [...this.#byKey.values()] };
  }
}

function keyOf(raw: JsonValue): string {
  return typeof raw === 'string' ? raw : JSON.stringify(raw);
}
