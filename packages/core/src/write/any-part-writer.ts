import { refuseNames } from '../codec/check-content.ts';
import type { ItemId, PartId } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { BeginPart, Delta, RetractReason } from '../protocol/delta.ts';
import type { Metadata } from '../protocol/metadata.ts';
import type { Part, PartKind } from '../protocol/part.ts';
import { partEnd } from '../protocol/part-end.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type { PartWriter, ReasoningEndOptions } from './part-writer.ts';
import { wholePart } from './whole-part.ts';

/** Where deltas go. */
export interface Outlet {
  /** Refuses a delta that no reader could read, or that is not of this attempt. */
  check(delta: Delta): void;
  /** Writes a delta that is known to be sound. */
  emit(delta: Delta): void;
}

/** What the writers of all kinds have in common: everything but how the part grows. */
export abstract class AnyPartWriter<Kind extends PartKind> implements PartWriter {
  readonly partId: PartId;
  readonly kind: Kind;
  protected readonly limits: Limits;
  readonly #outlet: Outlet;
  readonly #itemId: ItemId;
  #standing: 'open' | 'committed' | 'retracted' = 'open';

  constructor(begin: BeginPart & { readonly kind: Kind }, limits: Limits, outlet: Outlet) {
    this.partId = begin.partId;
    this.kind = begin.kind;
    this.limits = limits;
    this.#outlet = outlet;
    this.#itemId = begin.itemId;
  }

  protected emit(delta: Delta): void {
    this.#outlet.emit(delta);
  }

  protected checkAndEmit(delta: Delta): void {
    this.#outlet.check(delta);
    this.#outlet.emit(delta);
  }

  /** Writes what was held back, if anything, and gives the length to commit. */
  protected abstract finish(): number;

  get isOpen(): boolean {
    return this.#standing === 'open';
  }

  metadata(metadata: Metadata): void {
    this.assertOpen('set the metadata of a part');
    this.checkAndEmit({ type: 'set_metadata', partId: this.partId, metadata });
  }

  commit(end: ReasoningEndOptions = {}): void {
    this.assertOpen('commit a part');
    const { partId } = this;
    const last = partEnd(end);
    const isMissigned = last.signature !== undefined && this.kind !== 'reasoning';
    this.assert(isMissigned ? 'wrong_kind' : undefined, 'sign a part');
    this.assert(refuseNames(last, this.limits), 'commit a part');
    // Asked before what was held back is written, so that a refusal leaves it where it is.
    this.#outlet.check({ type: 'commit_part', partId, length: 0, ...last });
    this.#close('committed', { type: 'commit_part', partId, length: this.finish(), ...last });
  }

  replace(part: Part): void {
    this.assertOpen('replace a part');
    const { check } = this.#outlet;
    const commit = wholePart(this.partId, this.#itemId, part, this.limits, check);
    this.#close('committed', commit);
  }

  retract(reason: RetractReason): void {
    if (this.#standing === 'retracted') return;
    const retraction: Delta = { type: 'retract_part', partId: this.partId, reason };
    this.#outlet.check(retraction);
    this.#close('retracted', retraction);
  }

  #close(standing: 'committed' | 'retracted', delta: Delta): void {
    this.#standing = standing;
    this.emit(delta);
  }

  protected assertOpen(what: string): void {
    this.assert(this.isOpen ? undefined : 'part_closed', what);
  }

  protected assert(refusal: Refusal | undefined, what: string): void {
    if (refusal === undefined) return;
    throw new ProtocolError(refusal, what, { partId: this.partId, kind: this.kind });
  }
}
