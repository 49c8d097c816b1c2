import type { JsonObject } from '@millrace/core';
import { countIn, textIn } from '../json/fields.ts';

/** Which of OpenRouter's `reasoning_details` are fragments of one: those with the same key. */
export class DetailKeys {
  readonly #latest = new Map<string, { readonly key: string; id: string | undefined }>();
  #count = 0;

  /** Type and index tell, unless the ids say otherwise; what is encrypted comes whole where it has no index. */
  keyOf(detail: JsonObject): string {
    const type = textIn(detail, 'type') ?? '';
    const index = countIn(detail, 'index');
    const id = textIn(detail, 'id');
    const place = `${type} ${index ?? ''}`;
    const known = this.#latest.get(place);
    const isWhole = index === undefined && type.endsWith('encrypted');
    const isOther = id !== undefined && known?.id !== undefined && known.id !== id;
    if (known !== undefined && !isWhole && !isOther) {
      known.id ??= id;
      return known.key;
    }
    const key = `${place} ${this.#count++}`;
    this.#latest.set(place, { key, id });
    return key;
  }
}
