import type { ToolCallId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';

/** A finished piece of content. It does not refer to the deltas that built it. */
export type Part =
  | TextPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | StructuredPart
  | MediaPart
  | FilePart
  | CustomPart;

/** The kinds of parts. */
export type PartKind = Part['kind'];

interface Common {
  /** True if the part is incomplete because of an abort, an error or the end of the process. */
  readonly partial?: true;
  readonly metadata?: Metadata;
  readonly providerState?: ProviderState;
}

/** A text, for example of an answer or of a user's message. */
export interface TextPart extends Common {
  readonly kind: 'text';
  readonly text: string;
  /**
   * The media type if the text is not prose, for example `application/json` while structured output
   * streams.
   */
  readonly mimeType?: string;
}

/**
 * The form in which the provider shows the model's reasoning: the full text, a summary, or no readable text.
 */
export type ReasoningForm = 'full' | 'summary' | 'redacted';

/** Reasoning of a model. */
export interface ReasoningPart extends Common {
  readonly kind: 'reasoning';
  readonly text: string;
  readonly form: ReasoningForm;
  /**
   * The provider's proof that the text was not changed. Other data for the provider is in `providerState`.
   */
  readonly signature?: string;
}

/** A tool call of a model. */
export interface ToolCallPart extends Common {
  readonly kind: 'tool_call';
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** The arguments as JSON text, exactly as the model wrote them. */
  readonly arguments: string;
  /**
   * The parsed arguments. Absent if `arguments` is not JSON. The field is derived and is never
   * encoded.
   */
  readonly input?: JsonValue;
}

/** The result of a tool call. */
export interface ToolResultPart extends Common {
  readonly kind: 'tool_result';
  readonly toolCallId: ToolCallId;
  readonly name: string;
  /** The result for the model. */
  readonly text: string;
  readonly isError: boolean;
  /** The result as a JSON value, for programs that read the log. */
  readonly value?: JsonValue;
  /** Pictures, documents, or the full text of a shortened result. */
  readonly attachments?: readonly (MediaPart | FilePart)[];
}

/** Output that matches the schema of the request. */
export interface StructuredPart extends Common {
  readonly kind: 'structured';
  readonly value: JsonValue;
  readonly name?: string;
}

/** An image, audio or video. */
export interface MediaPart extends Common {
  readonly kind: 'media';
  readonly mimeType: string;
  readonly source: Source;
}

/** A file with its name. */
export interface FilePart extends Common {
  readonly kind: 'file';
  readonly name: string;
  readonly mimeType: string;
  readonly source: Source;
}

/** Other content with a name and a value, for example from a hosted tool, or content of your application. */
export interface CustomPart extends Common {
  readonly kind: 'custom';
  readonly name: string;
  readonly value: JsonValue;
}

/**
 * The location of bytes: inline, in the blob store beside the log, at a URL, or in the file storage
 * of a provider.
 */
export type Source =
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'blob'; readonly hash: string; readonly length: number }
  | { readonly type: 'url'; readonly url: string }
  | ProviderFile;

/**
 * A file that the caller uploaded to a provider. Only that provider can read the file. Other providers
 * receive its name.
 */
export interface ProviderFile {
  readonly type: 'provider_file';
  /** The provider's name, for example `openai`, `anthropic` or `gemini`. */
  readonly provider: string;
  /** The provider's id of the file. For Gemini, its URI. */
  readonly id: string;
}

/** The medium of a part: text, bytes or one value. It determines how the part grows while it streams. */
export type Medium = 'text' | 'bytes' | 'value';

/** Maps each kind of part to the way it grows while it streams. */
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

/** Annotations with any fields. They have no effect on the fold. */
export type Metadata = JsonObject;

/**
 * Data that a provider must receive unchanged with the next request: signatures, encrypted reasoning, item
 * ids. Only that provider and model can use this data. All other code treats it as opaque.
 */
export interface ProviderState {
  readonly provider: string;
  readonly model: string;
  readonly data: JsonValue;
}
