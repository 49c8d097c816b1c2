import { type Attempt, attemptOf, type Delta, type ItemId, type PartId } from '@millrace/core';

interface Growing {
  length: number;
  isOpen: boolean;
}

/**
 * Looks at what a provider streams before it is on the log. Adapters write with a `DeltaWriter`, which
 * refuses the same; one that builds its deltas by hand must not make a session unreadable.
 */
export class DeltaCheck {
  readonly #itemId: ItemId;
  readonly #at: Attempt;
  readonly #parts = new Map<PartId, Growing>();

  constructor(itemId: ItemId, at: Attempt) {
    this.#itemId = itemId;
    this.#at = at;
  }

  /** Whether it follows those before it. */
  follows(delta: Delta): boolean {
    if (delta.type === 'unknown') return true;
    const part = this.#parts.get(delta.partId);
    switch (delta.type) {
      case 'append_text':
      case 'append_bytes':
        if (part === undefined || !part.isOpen || delta.at !== part.length) return false;
        part.length += delta.chunk.length;
        return true;
      case 'begin_part':
        if (part !== undefined || !this.#isOwn(delta)) return false;
        this.#parts.set(delta.partId, { length: 0, isOpen: true });
        return true;
      case 'commit_part':
        return this.#commits(delta, part);
      case 'retract_part':
        if (part === undefined) return false;
        part.isOpen = false;
        return true;
      case 'replace_structured':
      case 'set_metadata':
        return part?.isOpen ?? false;
    }
  }

  #commits(delta: Delta & { readonly type: 'commit_part' }, part: Growing | undefined): boolean {
    const isWhole = delta.part !== undefined;
    if (isWhole && part === undefined) {
      this.#parts.set(delta.partId, { length: 0, isOpen: false });
      return this.#isOwn(delta);
    }
    if (part === undefined || !part.isOpen) return false;
    part.isOpen = false;
    return isWhole || delta.length === part.length;
  }

  #isOwn({ partId, itemId }: { readonly partId: PartId; readonly itemId: ItemId }): boolean {
    const { turn, attempt } = attemptOf(partId);
    return itemId === this.#itemId && turn === this.#at.turn && attempt === this.#at.attempt;
  }
}
