import { refuseNames } from '../codec/check-content.ts';
import { rereadDelta, UndecodableError } from '../codec/reread.ts';
import type { ErrorPlace } from '../errors.ts';
import {
  attemptOf,
  type ExecutionId,
  type Ids,
  type ItemId,
  isSameAttempt,
  type PartId,
  type ToolCallId,
} from '../ids.ts';
import { type ContentLimits, completeLimits } from '../limits.ts';
import type { BeginPart, Delta, PartStart, RetractReason } from '../protocol/delta.ts';
import type { Part, PartKind, ReasoningForm } from '../protocol/part.ts';
import { ProtocolError, type Refusal } from '../protocol/protocol-error.ts';
import type {
  BytesWriter,
  OpenPartWriter,
  ReasoningWriter,
  TextWriter,
  ValueWriter,
} from './part-writer.ts';
import {
  BytesPartWriter,
  type DeltaSink,
  TextPartWriter,
  ValuePartWriter,
  wholePart,
} from './part-writers.ts';

/** Options of a `DeltaWriter`. */
export interface DeltaWriterOptions {
  /** The item that receives the parts. The caller starts and finishes the item. */
  readonly itemId: ItemId;
  readonly turn: number;
  readonly attempt: number;
  /**
   * The source of part ids. All writers of a session must share one source, so that ids are unique.
   */
  readonly ids: Pick<Ids, 'part'>;
  /** The limits on accepted content. Default: `defaultContentLimits`. */
  readonly limits?: Partial<ContentLimits>;
}

/**
 * Writes the deltas of one item. Adapters must create all deltas with this class. It tracks positions and
 * refuses sequences that the protocol does not allow. A refused call does not change the writer, so the
 * caller can continue.
 *
 * @example const writer = new DeltaWriter({ itemId, turn: 1, attempt: 1, ids: countingIds() }); const text =
 * writer.text(); text.append('Hello'); text.commit(); const deltas = writer.take();
 */
export class DeltaWriter {
  readonly #options: DeltaWriterOptions;
  readonly #limits: ContentLimits;
  readonly #used = new Set<PartId>();
  readonly #open = new Map<PartId, OpenPartWriter>();
  readonly #retracted = new Set<PartId>();
  readonly #outlet: DeltaSink = {
    check: (delta) => this.#check(delta),
    emit: (delta) => this.#emit(delta),
  };
  #deltas: Delta[] = [];

  constructor(options: DeltaWriterOptions) {
    this.#options = options;
    this.#limits = completeLimits(options.limits);
  }

  /** Begins a text part. Default: plain text. */
  text({ mimeType }: { readonly mimeType?: string | undefined } = {}): TextWriter {
    const type = mimeType === undefined ? {} : { mimeType };
    return this.#begin({ kind: 'text', ...type }, TextPartWriter<'text'>);
  }

  /** Begins a reasoning part. `form` is the form of the reasoning. Default: `full`. */
  reasoning(form: ReasoningForm = 'full'): ReasoningWriter {
    return this.#begin({ kind: 'reasoning', form }, TextPartWriter<'reasoning'>);
  }

  /** Begins a tool call. Append its arguments as JSON text. */
  toolCall(toolCallId: ToolCallId, name: string): TextWriter {
    return this.#begin({ kind: 'tool_call', toolCallId, name }, TextPartWriter<'tool_call'>);
  }

  /** Begins the result of a call. */
  toolResult(toolCallId: ToolCallId, name: string, executionId?: ExecutionId): TextWriter {
    const execution = executionId === undefined ? {} : { executionId };
    const start = { kind: 'tool_result', toolCallId, name, ...execution } as const;
    return this.#begin(start, TextPartWriter<'tool_result'>);
  }

  /** Continues a tool result that a different writer began and left open after `length` UTF-16 units. */
  goOn(begin: BeginPart & { readonly kind: 'tool_result' }, length: number): TextWriter {
    const { partId, itemId } = begin;
    this.#check(begin);
    const isOther = itemId !== this.#options.itemId || this.#used.has(partId);
    this.#assert(isOther ? 'conflict' : undefined, 'go on with a part', { partId });
    const isLength = Number.isSafeInteger(length) && length >= 0;
    this.#assert(isLength ? undefined : 'gap', 'go on with a part', { partId, length });
    const writer = new TextPartWriter<'tool_result'>(begin, this.#limits, this.#outlet, length);
    this.#used.add(begin.partId);
    this.#open.set(begin.partId, writer);
    return writer;
  }

  /** Begins a part with a JSON value. */
  structured({ name }: { readonly name?: string | undefined } = {}): ValueWriter {
    const named = name === undefined ? {} : { name };
    return this.#begin({ kind: 'structured', ...named }, ValuePartWriter<'structured'>);
  }

  /** Begins a part of a kind that your application defines. */
  custom(name: string): ValueWriter {
    return this.#begin({ kind: 'custom', name }, ValuePartWriter<'custom'>);
  }

  /** Begins an image, audio or video. */
  media(mimeType: string): BytesWriter {
    return this.#begin({ kind: 'media', mimeType }, BytesPartWriter<'media'>);
  }

  /** Begins a file. */
  file(name: string, mimeType: string): BytesWriter {
    return this.#begin({ kind: 'file', name, mimeType }, BytesPartWriter<'file'>);
  }

  /** Writes a part that arrived whole. */
  whole(part: Part): PartId {
    const partId = this.#nextId();
    const { check } = this.#outlet;
    this.#emit(wholePart(partId, this.#options.itemId, part, this.#limits, check));
    return partId;
  }

  /** Retracts a part. The part may have arrived whole, or a different writer may have written it. */
  retract(partId: PartId, reason: RetractReason): void {
    const open = this.#open.get(partId);
    if (open !== undefined) return open.retract(reason);
    if (this.#retracted.has(partId)) return;
    const retraction: Delta = { type: 'retract_part', partId, reason };
    this.#check(retraction);
    this.#emit(retraction);
  }

  /**
   * The parts that are neither committed nor retracted. The code that ends the response must close
   * them.
   */
  get open(): readonly OpenPartWriter[] {
    return [...this.#open.values()];
  }

  /** Returns the deltas since the last call. */
  take(): readonly Delta[] {
    const taken = this.#deltas;
    this.#deltas = [];
    return taken;
  }

  #nextId(): PartId {
    const { ids, turn, attempt } = this.#options;
    const partId = ids.part(turn, attempt);
    this.#assert(this.#used.has(partId) ? 'conflict' : undefined, 'use an id again', { partId });
    const isFull = this.#used.size >= this.#limits.maxParts;
    this.#assert(isFull ? 'too_large' : undefined, 'write one more part', { partId });
    return partId;
  }

  #begin<Start extends PartStart, W extends OpenPartWriter>(
    start: Start,
    Writer: new (
      begin: BeginPart & { readonly kind: Start['kind'] & PartKind },
      limits: ContentLimits,
      outlet: DeltaSink,
    ) => W,
  ): W {
    const { kind } = start;
    const isFull = this.#open.size >= this.#limits.maxOpenParts;
    this.#assert(isFull ? 'too_large' : undefined, 'have one more part open', { kind });
    this.#assert(refuseNames(start, this.#limits), 'begin a part with so long a name', { kind });
    const { itemId } = this.#options;
    const begin = { type: 'begin_part', partId: this.#nextId(), itemId, ...start } as const;
    this.#check(begin);
    const writer = new Writer(begin, this.#limits, this.#outlet);
    this.#emit(begin);
    this.#open.set(begin.partId, writer);
    return writer;
  }

  #check(delta: Delta): void {
    const { itemId, turn, attempt } = this.#options;
    assertReadable(delta, this.#limits, { itemId, turn, attempt });
    const named = delta.type === 'unknown' ? this.#options : attemptOf(delta.partId);
    const isForeign = !isSameAttempt(named, this.#options);
    this.#assert(isForeign ? 'wrong_attempt' : undefined, `write ${delta.type}`, { ...named });
  }

  #assert(refusal: Refusal | undefined, what: string, place: object): void {
    if (refusal === undefined) return;
    const { itemId } = this.#options;
    throw new ProtocolError(refusal, what, { itemId, open: this.#open.size, ...place });
  }

  #emit(delta: Delta): void {
    this.#deltas.push(delta);
    switch (delta.type) {
      case 'begin_part':
        this.#used.add(delta.partId);
        return;
      case 'commit_part':
        this.#used.add(delta.partId);
        this.#open.delete(delta.partId);
        return;
      case 'retract_part':
        this.#retracted.add(delta.partId);
        this.#open.delete(delta.partId);
        return;
      default:
    }
  }
}

/** Throws if no reader could decode the delta. Callers without types can create such deltas. */
function assertReadable(delta: Delta, limits: ContentLimits, place: ErrorPlace): void {
  try {
    rereadDelta(delta, limits);
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    throw refused(error, delta, place);
  }
}

function refused({ refusal, path, cause }: UndecodableError, { type }: Delta, place: ErrorPlace) {
  return new ProtocolError(refusal, `write ${type}`, { ...place, path }, { cause });
}
