import type { PartId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { PartEnd, RetractReason } from '../protocol/delta.ts';
import type { Metadata } from '../protocol/metadata.ts';
import type { Part, PartKind } from '../protocol/part.ts';

/** What can be done with any part while it is open. */
export interface PartWriter {
  readonly partId: PartId;
  readonly kind: PartKind;
  readonly isOpen: boolean;
  /** Sets the whole map. */
  metadata(metadata: Metadata): void;
  /** What streamed is the part. */
  commit(end?: Omit<PartEnd, 'signature'>): void;
  /** This is the part instead, of whichever kind. */
  replace(part: Part): void;
  /** The part leaves the stage, committed or not. */
  retract(reason: RetractReason): void;
}

export interface TextWriter extends PartWriter {
  /** How long the text is that was written, in UTF-16 units. */
  readonly length: number;
  append(chunk: string): void;
}

export interface ReasoningWriter extends TextWriter {
  commit(end?: PartEnd): void;
}

export interface BytesWriter extends PartWriter {
  readonly length: number;
  append(chunk: Uint8Array): void;
}

export interface ValueWriter extends PartWriter {
  /** Sets the whole value, which from now on belongs to the log: do not change it. */
  set(value: JsonValue): void;
}
