import type { PartId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { RetractReason } from '../protocol/delta.ts';
import type { Metadata, Part, PartKind, ProviderState } from '../protocol/part.ts';

/** What is known of a part only at its end. `undefined` is as good as nothing. */
export interface EndOptions {
  /** It was cut off. */
  readonly partial?: true | undefined;
  readonly providerState?: ProviderState | undefined;
}

export interface ReasoningEndOptions extends EndOptions {
  readonly signature?: string | undefined;
}

/** What can be done with any part while it is open. Values that are handed over belong to the log. */
export interface PartWriter {
  readonly partId: PartId;
  readonly kind: PartKind;
  readonly isOpen: boolean;
  /** Sets the whole map. */
  metadata(metadata: Metadata): void;
  /** What streamed is the part. */
  commit(end?: EndOptions): void;
  /** This is the part instead, of whichever kind. */
  replace(part: Part): void;
  /** The part leaves the stage, committed or not. */
  retract(reason: RetractReason): void;
}

export interface TextWriter extends PartWriter {
  readonly kind: 'text' | 'reasoning' | 'tool_call' | 'tool_result';
  /** How long the text is that was written, in UTF-16 units. */
  readonly length: number;
  append(chunk: string): void;
}

export interface ReasoningWriter extends TextWriter {
  readonly kind: 'reasoning';
  commit(end?: ReasoningEndOptions): void;
}

export interface BytesWriter extends PartWriter {
  readonly kind: 'media' | 'file';
  readonly length: number;
  /** Copies the chunk, because readers of sockets use their buffers again. */
  append(chunk: Uint8Array): void;
}

export interface ValueWriter extends PartWriter {
  readonly kind: 'structured' | 'custom';
  /** Sets the whole value. */
  set(value: JsonValue): void;
}

/** Any of them, told apart by `kind`. */
export type OpenPartWriter = TextWriter | BytesWriter | ValueWriter;
