import type { Settled } from '@millrace/agent/steps';
import { sessionId } from '@millrace/core';

/** Of the JSON of what a query answers: Temporal takes no more than 2 MiB. */
const maxLength = 512 * 1024;

/** What this execution was told of; where it is too much, what was said first is known by reference. */
export class KnownItems {
  readonly #items: Settled[] = [];
  /** Those before it are references. */
  #firstValue = 0;
  #length = 0;

  get items(): readonly Settled[] {
    return this.#items;
  }

  /** By `through` the session's log has them. */
  add(items: readonly Settled[], session: string, through: number): void {
    this.#items.push(...items);
    for (const one of items) this.#length += lengthOf(one);
    for (; this.#length > maxLength; this.#firstValue++) this.#refer(session, through);
  }

  #refer(session: string, through: number): void {
    const one = this.#items[this.#firstValue];
    if (one?.by !== 'value') return;
    this.#length -= lengthOf(one);
    const { itemId } = one;
    const place = { session: sessionId(session), through };
    this.#items[this.#firstValue] = { by: 'reference', itemId, ...place };
  }
}

function lengthOf(one: Settled): number {
  return one.by === 'value' ? JSON.stringify(one.item).length : 0;
}
