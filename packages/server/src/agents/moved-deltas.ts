import type { Attempt, Delta, Ids, ItemId, PartId } from '@millrace/core';

/**
 * Deltas that were streamed for whichever item, as if for this one. Parts get ids of this session, so
 * that two streams which count theirs alike do not meet.
 */
export class MovedDeltas {
  readonly #itemId: ItemId;
  readonly #at: Attempt;
  readonly #ids: Pick<Ids, 'part'>;
  readonly #names = new Map<PartId, PartId>();

  constructor(itemId: ItemId, at: Attempt, ids: Pick<Ids, 'part'>) {
    this.#itemId = itemId;
    this.#at = at;
    this.#ids = ids;
  }

  move(delta: Delta): Delta {
    if (delta.type === 'unknown') return delta;
    const moved = { ...delta, partId: this.#nameOf(delta.partId) };
    return 'itemId' in moved ? { ...moved, itemId: this.#itemId } : moved;
  }

  #nameOf(id: PartId): PartId {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const { turn, attempt } = this.#at;
    const name = this.#ids.part(turn, attempt);
    this.#names.set(id, name);
    return name;
  }
}
