import type { PartId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { RetractReason } from '../protocol/delta.ts';
import type { Metadata, Part, PartKind, ProviderState } from '../protocol/part.ts';

/** The fields of a part that are known only at its end. `undefined` means absent. */
export interface EndOptions {
  /** The part was cut off. Default: it is complete. */
  readonly partial?: true | undefined;
  /** Data that the provider gets back with the next request. Default: none. */
  readonly providerState?: ProviderState | undefined;
}

/** The fields of a reasoning part that are known only at its end. */
export interface ReasoningEndOptions extends EndOptions {
  /** The provider's signature of the reasoning. Default: none. */
  readonly signature?: string | undefined;
}

/** The operations on any open part. Values that are passed in must not be changed afterwards. */
export interface PartWriter {
  readonly partId: PartId;
  readonly kind: PartKind;
  readonly isOpen: boolean;
  /** Sets the whole metadata. */
  metadata(metadata: Metadata): void;
  /** Commits the streamed content as the part. */
  commit(end?: EndOptions): void;
  /** Commits this part in place of the streamed content. The kind can differ. */
  replace(part: Part): void;
  /** Removes the part, whether it is open or committed. */
  retract(reason: RetractReason): void;
}

/** Writes a part that grows by text. */
export interface TextWriter extends PartWriter {
  readonly kind: 'text' | 'reasoning' | 'tool_call' | 'tool_result';
  /** The length of the written text, in UTF-16 units. */
  readonly length: number;
  /** Appends text to the part. */
  append(chunk: string): void;
}

/** Writes a reasoning part. */
export interface ReasoningWriter extends TextWriter {
  readonly kind: 'reasoning';
  commit(end?: ReasoningEndOptions): void;
}

/** Writes a media or file part. */
export interface BytesWriter extends PartWriter {
  readonly kind: 'media' | 'file';
  readonly length: number;
  /** Copies the chunk, because socket readers reuse their buffers. */
  append(chunk: Uint8Array): void;
}

/** Writes a structured or custom part. */
export interface ValueWriter extends PartWriter {
  readonly kind: 'structured' | 'custom';
  /** Sets the whole value. */
  set(value: JsonValue): void;
}

/** An open part writer of any kind. Use `kind` to tell them apart. */
export type OpenPartWriter = TextWriter | BytesWriter | ValueWriter;
