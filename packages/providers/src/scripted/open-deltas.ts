import type { Delta, PartId, PartKind, RetractReason } from '@millrace/core';
import { cutPart } from '../contract/cut-part.ts';

/** The parts that deltas written by somebody else leave open. */
export class OpenDeltas {
  readonly #open = new Map<PartId, { readonly kind: PartKind; length: number }>();

  get size(): number {
    return this.#open.size;
  }

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

  /** The deltas that close them as a cut response is closed. */
  close(reason: RetractReason): readonly Delta[] {
    return [...this.#open].map(([partId, { kind, length }]) =>
      cutPart(partId, kind, length, reason),
    );
  }
}
