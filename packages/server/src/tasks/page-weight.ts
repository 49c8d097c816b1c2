import type { JsonValue } from '@millrace/core';
import { ServerError } from '../contract/server-error.ts';

/** In characters of JSON. What is kept is bounded one by one; a page of a thousand has to be, too. */
const maxPage = 16 * 2 ** 20;

/** What a page of a list has in it so far. */
export class PageWeight {
  #length = 0;

  /** Throws where one page would be too much. One thing alone always fits. */
  add(value: unknown): void {
    const isFirst = this.#length === 0;
    this.#length += JSON.stringify(value as JsonValue).length;
    if (isFirst || this.#length <= maxPage) return;
    const message = `Cannot list so much at once: it is over ${maxPage} characters. Ask with a smaller limit`;
    throw new ServerError('too_large', message);
  }
}
