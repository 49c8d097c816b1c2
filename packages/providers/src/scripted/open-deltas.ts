import type { Delta, PartId, PartKind, RetractReason } from '@millrace/core';

/** The parts that deltas written by somebody else leave open. */
export class OpenDeltas {
  readonly #open = new Map<PartId, { readonly kind: PartKind; length: number }>();

  note(delta: Delta): void {
    switch (delta.type) {
      case 'begin_part':
        this.#open.set(delta.partId, { kind: delta.kind, length: 0 });
        return;
      case 'append_text':
      case 'append_bytes': {
        const part = this.#open.get(delta.partId);
        if (part !== undefined) part.length = delta.at + delta.chunk.length;
        return;
      }
      case 'commit_part':
      case 'retract_part':
        this.#open.delete(delta.partId);
        return;
      default:
    }
  }

  /** The deltas that close them as a cut response is closed: what was said stays, calls go. */
  close(reason: RetractReason): readonly Delta[] {
    return [...this.#open].map(([partId, { kind, length }]): Delta => {
      const isKept = kind === 'text' || kind === 'reasoning' || kind === 'media';
      return isKept && length > 0
        ? { type: 'commit_part', partId, length, partial: true }
        : { type: 'retract_part', partId, reason };
    });
  }
}
