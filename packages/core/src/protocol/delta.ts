import type { ExecutionId, ItemId, PartId, ToolCallId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import type { Metadata, Part, ProviderState, ReasoningForm } from './part.ts';

/** One increment of a part while it streams. */
export type Delta =
  | BeginPart
  | AppendText
  | AppendBytes
  | ReplaceStructured
  | SetMetadata
  | CommitBuilt
  | CommitWhole
  | RetractPart
  | UnknownDelta;

/** What is known of a part at its start; the rest streams. */
export type PartStart =
  | { readonly kind: 'text'; readonly mimeType?: string }
  | { readonly kind: 'reasoning'; readonly form: ReasoningForm }
  | { readonly kind: 'tool_call'; readonly toolCallId: ToolCallId; readonly name: string }
  | {
      readonly kind: 'tool_result';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      /** The execution whose progress streams into it. */
      readonly executionId?: ExecutionId;
    }
  | { readonly kind: 'structured'; readonly name?: string }
  | { readonly kind: 'media'; readonly mimeType: string }
  | { readonly kind: 'file'; readonly name: string; readonly mimeType: string }
  | { readonly kind: 'custom'; readonly name: string };

/** What is known of a part only at its end. */
export interface PartEnd {
  readonly partial?: true;
  /** Of a reasoning part. */
  readonly signature?: string;
  readonly providerState?: ProviderState;
}

export type BeginPart = {
  readonly type: 'begin_part';
  readonly partId: PartId;
  readonly itemId: ItemId;
} & PartStart;

export interface AppendText {
  readonly type: 'append_text';
  readonly partId: PartId;
  /** Where the chunk goes, in UTF-16 units. */
  readonly at: number;
  readonly chunk: string;
}

export interface AppendBytes {
  readonly type: 'append_bytes';
  readonly partId: PartId;
  /** Where the chunk goes, in bytes. */
  readonly at: number;
  readonly chunk: Uint8Array;
}

/** The whole value of a structured or custom part, instead of the one before. */
export interface ReplaceStructured {
  readonly type: 'replace_structured';
  readonly partId: PartId;
  readonly value: JsonValue;
}

/** The whole map, instead of the one before. */
export interface SetMetadata {
  readonly type: 'set_metadata';
  readonly partId: PartId;
  readonly metadata: Metadata;
}

/** What streamed is the part. */
export interface CommitBuilt extends PartEnd {
  readonly type: 'commit_part';
  readonly partId: PartId;
  /** Of what was appended; 0 for parts that grow by replacement. */
  readonly length: number;
  readonly part?: undefined;
}

/** The part came whole, or replaces what streamed, whatever its kind was. */
export interface CommitWhole {
  readonly type: 'commit_part';
  readonly partId: PartId;
  readonly itemId: ItemId;
  readonly part: Part;
}

export type RetractReason = 'aborted' | 'cut' | 'withdrawn' | (string & {});

/** The part leaves the stage, committed or not. */
export interface RetractPart {
  readonly type: 'retract_part';
  readonly partId: PartId;
  readonly reason: RetractReason;
}

/** A type that a later writer knows: kept as it came, folded to nothing. */
export interface UnknownDelta {
  readonly type: 'unknown';
  readonly raw: JsonObject;
}

type Given = { readonly [Field in keyof PartEnd]?: PartEnd[Field] | undefined };

/** The fields of an end that were given, by name: what else an object has must not become a delta's or an event's. */
export function partEnd(given: Given): PartEnd {
  const { partial, signature, providerState } = { ...given };
  return {
    ...(partial !== undefined && { partial }),
    ...(signature !== undefined && { signature }),
    ...(providerState !== undefined && { providerState }),
  };
}
