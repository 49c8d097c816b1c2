import type { ExecutionId, Ids, ItemId, PartId, ToolCallId } from '../ids.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { refuseNames } from '../protocol/check-content.ts';
import type { BeginPart, Delta, PartStart } from '../protocol/delta.ts';
import type { Part, ReasoningForm } from '../protocol/part.ts';
import { ProtocolError } from '../protocol/protocol-error.ts';
import type {
  BytesWriter,
  PartWriter,
  ReasoningWriter,
  TextWriter,
  ValueWriter,
} from './part-writer.ts';
import { BytesPartWriter, TextPartWriter, ValuePartWriter, wholePart } from './part-writers.ts';

export interface DeltaWriterOptions {
  /** The item that the parts go into. Who started it finishes it. */
  readonly itemId: ItemId;
  readonly turn: number;
  readonly attempt: number;
  readonly ids: Pick<Ids, 'part'>;
  readonly limits?: Partial<Limits>;
}

/**
 * Writes the deltas of one item: the only way an adapter makes them. It keeps positions and refuses
 * what the protocol does not allow; a refusal changes nothing, and the writer goes on.
 */
export class DeltaWriter {
  readonly #options: DeltaWriterOptions;
  readonly #limits: Limits;
  readonly #open = new Map<PartId, PartWriter>();
  #deltas: Delta[] = [];

  constructor(options: DeltaWriterOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  text(start: { readonly mimeType?: string } = {}): TextWriter {
    return this.#begin(TextPartWriter, { kind: 'text', ...start });
  }

  reasoning(form: ReasoningForm = 'full'): ReasoningWriter {
    return this.#begin(TextPartWriter, { kind: 'reasoning', form });
  }

  toolCall(toolCallId: ToolCallId, name: string): TextWriter {
    return this.#begin(TextPartWriter, { kind: 'tool_call', toolCallId, name });
  }

  toolResult(toolCallId: ToolCallId, name: string, executionId?: ExecutionId): TextWriter {
    const execution = executionId === undefined ? {} : { executionId };
    return this.#begin(TextPartWriter, { kind: 'tool_result', toolCallId, name, ...execution });
  }

  structured(start: { readonly name?: string } = {}): ValueWriter {
    return this.#begin(ValuePartWriter, { kind: 'structured', ...start });
  }

  custom(name: string): ValueWriter {
    return this.#begin(ValuePartWriter, { kind: 'custom', name });
  }

  media(mimeType: string): BytesWriter {
    return this.#begin(BytesPartWriter, { kind: 'media', mimeType });
  }

  file(name: string, mimeType: string): BytesWriter {
    return this.#begin(BytesPartWriter, { kind: 'file', name, mimeType });
  }

  /** A part that came whole. */
  whole(part: Part): PartId {
    const partId = this.#nextId();
    const { itemId } = this.#options;
    this.#deltas.push(wholePart(partId, itemId, part, this.#limits));
    return partId;
  }

  /** The parts that are not committed or retracted yet: who ends the response decides on them. */
  get open(): readonly PartWriter[] {
    return [...this.#open.values()];
  }

  /** The deltas written since they were last taken. */
  take(): readonly Delta[] {
    const taken = this.#deltas;
    this.#deltas = [];
    return taken;
  }

  #nextId(): PartId {
    const { ids, turn, attempt } = this.#options;
    return ids.part(turn, attempt);
  }

  #begin<W extends PartWriter>(
    Writer: new (begin: BeginPart, limits: Limits, emit: (delta: Delta) => void) => W,
    start: PartStart,
  ): W {
    const { itemId } = this.#options;
    const isFull = this.#open.size >= this.#limits.maxOpenParts;
    if (isFull || refuseNames(start, this.#limits) !== undefined) {
      throw new ProtocolError('too_large', 'begin one more part', {
        itemId,
        open: this.#open.size,
      });
    }
    const begin: BeginPart = { type: 'begin_part', partId: this.#nextId(), itemId, ...start };
    const writer = new Writer(begin, this.#limits, (delta) => this.#emit(delta));
    this.#open.set(begin.partId, writer);
    this.#deltas.push(begin);
    return writer;
  }

  #emit(delta: Delta): void {
    this.#deltas.push(delta);
    const closes = delta.type === 'commit_part' || delta.type === 'retract_part';
    if (closes) this.#open.delete(delta.partId);
  }
}
