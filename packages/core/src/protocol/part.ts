import type { ToolCallId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';

/** A finished piece of content. It knows nothing of the deltas that built it. */
export type Part =
  | TextPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | StructuredPart
  | MediaPart
  | FilePart
  | CustomPart;

export type PartKind = Part['kind'];

interface Common {
  /** It was cut off: by an abort, an error, the death of its process. */
  readonly partial?: true;
  readonly metadata?: Metadata;
  readonly providerState?: ProviderState;
}

export interface TextPart extends Common {
  readonly kind: 'text';
  readonly text: string;
  /** Where it is not prose, for instance `application/json` while structured output streams. */
  readonly mimeType?: string;
}

/** What the provider shows of the model's reasoning: the thing itself, a summary, or nothing readable. */
export type ReasoningForm = 'full' | 'summary' | 'redacted';

export interface ReasoningPart extends Common {
  readonly kind: 'reasoning';
  readonly text: string;
  readonly form: ReasoningForm;
  /** The provider's proof that the text is unaltered; what else it wants back is in `providerState`. */
  readonly signature?: string;
}

export interface ToolCallPart extends Common {
  readonly kind: 'tool_call';
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** The JSON text exactly as the model wrote it. */
  readonly arguments: string;
  /** Its value; absent where the text is not JSON. Derived, and so never on the wire. */
  readonly input?: JsonValue;
}

export interface ToolResultPart extends Common {
  readonly kind: 'tool_result';
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** What the model reads. */
  readonly text: string;
  readonly isError: boolean;
  /** What a program reads. */
  readonly value?: JsonValue;
  /** Pictures, documents, or the whole of a text that was clipped. */
  readonly attachments?: readonly (MediaPart | FilePart)[];
}

/** Output that was asked for by a schema. */
export interface StructuredPart extends Common {
  readonly kind: 'structured';
  readonly value: JsonValue;
  readonly name?: string;
}

export interface MediaPart extends Common {
  readonly kind: 'media';
  readonly mimeType: string;
  readonly source: Source;
}

export interface FilePart extends Common {
  readonly kind: 'file';
  readonly name: string;
  readonly mimeType: string;
  readonly source: Source;
}

/** Anything else, kept with its data: hosted-tool blocks, citations, an application's own. */
export interface CustomPart extends Common {
  readonly kind: 'custom';
  readonly name: string;
  readonly value: JsonValue;
}

/** Where bytes are: here, in the blob store beside the log, or elsewhere. */
export type Source =
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'blob'; readonly hash: string; readonly length: number }
  | { readonly type: 'url'; readonly url: string };

/** How a part of each kind grows while it streams. */
export type Medium = 'text' | 'bytes' | 'value';

export const mediumOf: { readonly [Kind in PartKind]: Medium } = {
  text: 'text',
  reasoning: 'text',
  tool_call: 'text',
  tool_result: 'text',
  structured: 'value',
  custom: 'value',
  media: 'bytes',
  file: 'bytes',
};

/** Free annotations. They travel with what they annotate and mean nothing to the fold. */
export type Metadata = JsonObject;

/**
 * What a provider wants back unchanged with the next request: signatures, encrypted reasoning, item
 * ids. Opaque to us, and of use to that provider and model only.
 */
export interface ProviderState {
  readonly provider: string;
  readonly model: string;
  readonly data: JsonValue;
}
