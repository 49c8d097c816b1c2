import type { PartId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { RetractReason } from '../protocol/delta.ts';
import type { Metadata, Part, PartKind, ProviderState } from '../protocol/part.ts';

/** The fields of a part that are known only at its end. A field that is undefined is omitted. */
export interface EndOptions {
  /** True if the part is incomplete. Default: the part is complete. */
  readonly partial?: true | undefined;
  /** Data that the provider receives again with the next request. Default: none. */
  readonly providerState?: ProviderState | undefined;
}

/** The fields of a reasoning part that are known only at its end. */
export interface ReasoningEndOptions extends EndOptions {
  /** The provider's signature of the reasoning. Default: none. */
  readonly signature?: string | undefined;
}

/** The operations on any open part. The caller must not change a value after passing it in. */
export interface PartWriter {
  readonly partId: PartId;
  readonly kind: PartKind;
  readonly isOpen: boolean;
  /** Replaces the whole metadata. */
  metadata(metadata: Metadata): void;
  /** Commits the streamed content as the part. */
  commit(end?: EndOptions): void;
  /** Commits the given part instead of the streamed content. Its kind can differ. */
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
  /** Appends bytes to the part. It copies them, because socket readers reuse their buffers. */
  append(chunk: Uint8Array): void;
}

/** Writes a structured or custom part. */
export interface ValueWriter extends PartWriter {
  readonly kind: 'structured' | 'custom';
  /** Replaces the whole value. */
  set(value: JsonValue): void;
}

/** A writer for a part of any kind. Its field `kind` contains the kind of the part. */
export type OpenPartWriter = TextWriter | BytesWriter | ValueWriter;
