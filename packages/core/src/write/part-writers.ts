import { refuseChunk, refuseNames, refusePart, wellFormedPart } from '../codec/check-content.ts';
import type { ItemId, PartId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { ContentLimits } from '../limits.ts';
import {
  type BeginPart,
  type CommitWhole,
  type Delta,
  partEnd,
  type RetractReason,
} from '../protocol/delta.ts';
import type { Metadata, Part, PartKind } from '../protocol/part.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import { withDerived } from '../protocol/tool-call.ts';
import type {
  BytesWriter,
  PartWriter,
  ReasoningEndOptions,
  TextWriter,
  ValueWriter,
} from './part-writer.ts';

/** Receives the deltas of the part writers. */
export interface DeltaSink {
  /** Throws if no reader could decode the delta, or if the delta belongs to a different attempt. */
  check(delta: Delta): void;
  /** Writes a delta that was already checked. */
  emit(delta: Delta): void;
}

/** The operations that all kinds of part writers share. Only the growth of the part differs. */
abstract class AnyPartWriter<Kind extends PartKind> implements PartWriter {
  readonly partId: PartId;
  readonly kind: Kind;
  protected readonly limits: ContentLimits;
  readonly #outlet: DeltaSink;
  readonly #itemId: ItemId;
  #standing: 'open' | 'committed' | 'retracted' = 'open';

  constructor(
    begin: BeginPart & { readonly kind: Kind },
    limits: ContentLimits,
    outlet: DeltaSink,
  ) {
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

  /** Writes the text that was kept back, if any, and returns the length for the commit. */
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
    // The check runs before the writer emits the text that was kept back, so a refused commit changes
    // nothing.
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

export class TextPartWriter<Kind extends TextWriter['kind']>
  extends AnyPartWriter<Kind>
  implements TextWriter
{
  #length: number;
  /** A high surrogate whose second half has not arrived. The log never contains half a pair. */
  #held = '';

  constructor(
    begin: BeginPart & { readonly kind: Kind },
    limits: ContentLimits,
    outlet: DeltaSink,
    length = 0,
  ) {
    super(begin, limits, outlet);
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  append(chunk: string): void {
    this.assertOpen('append to a part');
    const refusal = refuseChunk(chunk, 'text', this.#length + this.#held.length, this.limits);
    this.assert(refusal, 'append to a part');
    if (this.#held === '' && chunk.isWellFormed()) this.#write(chunk);
    else this.#writePaired(this.#held + chunk);
  }

  protected override finish(): number {
    if (this.#held !== '') this.#write('\uFFFD');
    this.#held = '';
    return this.#length;
  }

  #writePaired(text: string): void {
    const cut = endsInHalf(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    const whole = text.slice(0, cut).toWellFormed();
    // Together with the surrogate that was kept back, the chunk can be one unit longer than the limit.
    const split = whole.length > this.limits.maxChunkLength ? 2 : 0;
    this.#write(whole.slice(0, split));
    this.#write(whole.slice(split));
  }

  #write(chunk: string): void {
    if (chunk === '') return;
    const at = this.#length;
    this.#length += chunk.length;
    this.emit({ type: 'append_text', partId: this.partId, at, chunk });
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

export class BytesPartWriter<Kind extends BytesWriter['kind']>
  extends AnyPartWriter<Kind>
  implements BytesWriter
{
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array): void {
    this.assertOpen('append to a part');
    const refusal = refuseChunk(chunk, 'bytes', this.#length, this.limits);
    this.assert(refusal, 'append to a part');
    if (chunk.length === 0) return;
    const at = this.#length;
    this.#length += chunk.length;
    this.emit({ type: 'append_bytes', partId: this.partId, at, chunk: new Uint8Array(chunk) });
  }

  protected override finish(): number {
    return this.#length;
  }
}

export class ValuePartWriter<Kind extends ValueWriter['kind']>
  extends AnyPartWriter<Kind>
  implements ValueWriter
{
  #hasValue = false;

  set(value: JsonValue): void {
    this.assertOpen('set the value of a part');
    this.checkAndEmit({ type: 'replace_structured', partId: this.partId, value });
    this.#hasValue = true;
  }

  protected override finish(): number {
    this.assert(this.#hasValue ? undefined : 'no_value', 'commit a part');
    return 0;
  }
}

/**
 * Returns the delta that commits a part that arrived whole. Lone surrogates in its text are
 * replaced, as in streamed text.
 */
export function wholePart(
  partId: PartId,
  itemId: ItemId,
  given: Part,
  limits: ContentLimits,
  check: (delta: CommitWhole) => void,
): CommitWhole {
  check({ type: 'commit_part', partId, itemId, part: given });
  const part = withDerived(wellFormedPart(given));
  const refusal = refusePart(part, limits);
  if (refusal === undefined) return { type: 'commit_part', partId, itemId, part };
  throw new ProtocolError(refusal, 'commit a part', { partId, itemId, kind: part.kind });
}
