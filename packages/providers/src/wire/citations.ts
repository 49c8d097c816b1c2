import type { JsonObject, JsonValue } from '@millrace/core';

/** The source of a statement in the answer. */
export interface Citation {
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  /** The citation in the provider's format, which contains positions, quotes and ids. */
  readonly raw: JsonValue;
}

/** Maximum number of citations. No answer has this many citations. */
const maxCitations = 1024;

/** The citations of one text, without duplicates. Providers repeat citations in several chunks. */
export class Citations {
  readonly #byKey = new Map<string, { readonly at: number; readonly known: JsonObject }>();

  /** Adds a citation. Returns whether it is new. */
  add({ url, title, raw }: Citation): boolean {
    const key = keyOf(raw);
    if (this.#byKey.has(key) || this.#byKey.size >= maxCitations) return false;
    const known = {
      ...(url === undefined ? {} : { url }),
      ...(title === undefined ? {} : { title }),
    };
    this.#byKey.set(key, { at: this.#byKey.size, known: { ...known, raw } });
    return true;
  }

  /**
   * Returns the index of a citation in the list, or -1. `raw` is the citation in the provider's
   * format.
   */
  positionOf(raw: JsonValue): number {
    return this.#byKey.get(keyOf(raw))?.at ?? -1;
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** Returns the citations as metadata of the text. */
  get metadata(): JsonObject {
    return { citations: [...this.#byKey.values()].map(({ known }) => known) };
  }
}

function keyOf(raw: JsonValue): string {
  return typeof raw === 'string' ? raw : JSON.stringify(raw);
}
