import type { ItemId, PartId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { Limits } from '../limits.ts';
import {
  refuseChunk,
  refuseJson,
  refuseNames,
  refusePart,
  wellFormedPart,
} from '../protocol/check-content.ts';
import type {
  BeginPart,
  CommitBuilt,
  CommitWhole,
  Delta,
  PartEnd,
  RetractReason,
} from '../protocol/delta.ts';
import type { Metadata } from '../protocol/metadata.ts';
import type { Part, PartKind } from '../protocol/part.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import { withInput } from '../protocol/tool-call.ts';
import type { BytesWriter, PartWriter, ReasoningWriter, ValueWriter } from './part-writer.ts';

type Emit = (delta: Delta) => void;

export function wholePart(
  partId: PartId,
  itemId: ItemId,
  given: Part,
  limits: Limits,
): CommitWhole {
  const formed = wellFormedPart(given);
  const refusal = refusePart(formed, limits);
  if (refusal !== undefined) throw new ProtocolError(refusal, 'commit a part', { partId, itemId });
  const part = formed.kind === 'tool_call' ? withInput(formed) : formed;
  return { type: 'commit_part', partId, itemId, part };
}

/** What all writers of parts have in common: everything but how the part grows. */
abstract class AnyPartWriter implements PartWriter {
  readonly partId: PartId;
  readonly kind: PartKind;
  protected readonly limits: Limits;
  protected readonly emit: Emit;
  readonly #itemId: ItemId;
  #standing: 'open' | 'committed' | 'retracted' = 'open';

  constructor(begin: BeginPart, limits: Limits, emit: Emit) {
    this.partId = begin.partId;
    this.kind = begin.kind;
    this.limits = limits;
    this.emit = emit;
    this.#itemId = begin.itemId;
  }

  /** What the commit says of what was written. */
  protected abstract finish(end: PartEnd): CommitBuilt;

  get isOpen(): boolean {
    return this.#standing === 'open';
  }

  metadata(metadata: Metadata): void {
    this.assertOpen('set the metadata of a part');
    this.assert(refuseJson([metadata], this.limits), 'set the metadata of a part');
    this.emit({ type: 'set_metadata', partId: this.partId, metadata });
  }

  commit(end: PartEnd = {}): void {
    this.assertOpen('commit a part');
    const isMissigned = end.signature !== undefined && this.kind !== 'reasoning';
    this.assert(isMissigned ? 'wrong_kind' : undefined, 'sign a part');
    this.assert(refuseNames(end, this.limits), 'commit a part');
    this.assert(refuseJson([end.providerState?.data], this.limits), 'commit a part');
    const commit = this.finish(end);
    this.#standing = 'committed';
    this.emit(commit);
  }

  replace(part: Part): void {
    this.assertOpen('replace a part');
    const commit = wholePart(this.partId, this.#itemId, part, this.limits);
    this.#standing = 'committed';
    this.emit(commit);
  }

  retract(reason: RetractReason): void {
    if (this.#standing === 'retracted') return;
    this.#standing = 'retracted';
    this.emit({ type: 'retract_part', partId: this.partId, reason });
  }

  protected assertOpen(what: string): void {
    this.assert(this.isOpen ? undefined : 'part_closed', what);
  }

  protected assert(refusal: Refusal | undefined, what: string): void {
    if (refusal === undefined) return;
    throw new ProtocolError(refusal, what, { partId: this.partId, kind: this.kind });
  }
}

export class TextPartWriter extends AnyPartWriter implements ReasoningWriter {
  #length = 0;
  /** A high surrogate whose partner has not come yet: half a pair is never on the log. */
  #held = '';

  get length(): number {
    return this.#length;
  }

  append(chunk: string): void {
    this.assertOpen('append to a part');
    this.assert(
      refuseChunk(chunk, this.#length + this.#held.length, this.limits),
      'append to a part',
    );
    if (this.#held === '' && chunk.isWellFormed()) this.#write(chunk);
    else this.#writePaired(this.#held + chunk);
  }

  protected override finish(end: PartEnd): CommitBuilt {
    if (this.#held !== '') this.#write('\uFFFD');
    this.#held = '';
    return { type: 'commit_part', partId: this.partId, length: this.#length, ...end };
  }

  #writePaired(text: string): void {
    const cut = endsInHalf(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    this.#write(text.slice(0, cut).toWellFormed());
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

export class BytesPartWriter extends AnyPartWriter implements BytesWriter {
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array): void {
    this.assertOpen('append to a part');
    this.assert(refuseChunk(chunk, this.#length, this.limits), 'append to a part');
    if (chunk.length === 0) return;
    const at = this.#length;
    this.#length += chunk.length;
    this.emit({ type: 'append_bytes', partId: this.partId, at, chunk });
  }

  protected override finish(end: PartEnd): CommitBuilt {
    return { type: 'commit_part', partId: this.partId, length: this.#length, ...end };
  }
}

export class ValuePartWriter extends AnyPartWriter implements ValueWriter {
  #hasValue = false;

  set(value: JsonValue): void {
    this.assertOpen('set the value of a part');
    this.assert(refuseJson([value], this.limits), 'set the value of a part');
    this.#hasValue = true;
    this.emit({ type: 'replace_structured', partId: this.partId, value });
  }

  protected override finish(end: PartEnd): CommitBuilt {
    this.assert(this.#hasValue ? undefined : 'no_value', 'commit a part');
    return { type: 'commit_part', partId: this.partId, length: 0, ...end };
  }
}
