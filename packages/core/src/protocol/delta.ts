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

/** The fields of a part that are known at its start. The other fields stream or come at the end. */
export type PartStart =
  | { readonly kind: 'text'; readonly mimeType?: string }
  | { readonly kind: 'reasoning'; readonly form: ReasoningForm }
  | { readonly kind: 'tool_call'; readonly toolCallId: ToolCallId; readonly name: string }
  | {
      readonly kind: 'tool_result';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      /** The execution whose progress streams into the result. */
      readonly executionId?: ExecutionId;
    }
  | { readonly kind: 'structured'; readonly name?: string }
  | { readonly kind: 'media'; readonly mimeType: string }
  | { readonly kind: 'file'; readonly name: string; readonly mimeType: string }
  | { readonly kind: 'custom'; readonly name: string };

/** The fields of a part that are known only at its end. */
export interface PartEnd {
  readonly partial?: true;
  /** The signature of a reasoning part. */
  readonly signature?: string;
  readonly providerState?: ProviderState;
}

/** Begins a part. */
export type BeginPart = {
  readonly type: 'begin_part';
  readonly partId: PartId;
  readonly itemId: ItemId;
} & PartStart;

/** Appends text to a text, reasoning, tool call or tool result part. */
export interface AppendText {
  readonly type: 'append_text';
  readonly partId: PartId;
  /** The position of the chunk in the text, in UTF-16 units. */
  readonly at: number;
  readonly chunk: string;
}

/** Appends bytes to a media or file part. */
export interface AppendBytes {
  readonly type: 'append_bytes';
  readonly partId: PartId;
  /** The position of the chunk in the content, in bytes. */
  readonly at: number;
  readonly chunk: Uint8Array;
}

/** Replaces the whole value of a structured or custom part. */
export interface ReplaceStructured {
  readonly type: 'replace_structured';
  readonly partId: PartId;
  readonly value: JsonValue;
}

/** Replaces the whole metadata of a part. */
export interface SetMetadata {
  readonly type: 'set_metadata';
  readonly partId: PartId;
  readonly metadata: Metadata;
}

/** Commits the streamed content as the part. */
export interface CommitBuilt extends PartEnd {
  readonly type: 'commit_part';
  readonly partId: PartId;
  /**
   * The length of the appended content. It is 0 for structured and custom parts, which grow by
   * replacement.
   */
  readonly length: number;
  readonly part?: undefined;
}

/**
 * Commits a part that arrived whole, or that replaces the streamed content. The part can be of any
 * kind.
 */
export interface CommitWhole {
  readonly type: 'commit_part';
  readonly partId: PartId;
  readonly itemId: ItemId;
  readonly part: Part;
}

/** The reason why a part was retracted. */
export type RetractReason = 'aborted' | 'cut' | 'withdrawn' | (string & {});

/** Removes the part, whether it is open or committed. */
export interface RetractPart {
  readonly type: 'retract_part';
  readonly partId: PartId;
  readonly reason: RetractReason;
}

/** A delta of an unknown type, from a later version. The log stores it unchanged, and the fold ignores it. */
export interface UnknownDelta {
  readonly type: 'unknown';
  readonly raw: JsonObject;
}

type Given = { readonly [Field in keyof PartEnd]?: PartEnd[Field] | undefined };

/**
 * Copies only the known fields, so that other fields of the given object do not get into a delta or an event.
 */
export function partEnd(given: Given): PartEnd {
  const { partial, signature, providerState } = { ...given };
  return {
    ...(partial !== undefined && { partial }),
    ...(signature !== undefined && { signature }),
    ...(providerState !== undefined && { providerState }),
  };
}
