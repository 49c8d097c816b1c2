import type {
  CustomPart,
  FilePart,
  JsonObject,
  MediaPart,
  ReasoningPart,
  StructuredPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';

/**
 * What every wire builds its messages from. Whatever is left in a message may be sent: `providerState`
 * is the provider's own, reasoning and custom parts came from it, calls are paired with results.
 */
export type Message = InputMessage | AssistantMessage | ToolMessage;

/** From whoever instructs or asks. */
export interface InputMessage {
  readonly role: 'system' | 'developer' | 'user';
  readonly parts: readonly ContentPart[];
  readonly isCachePoint: boolean;
}

export type ContentPart = TextPart | StructuredPart | MediaPart | FilePart;

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly parts: readonly AssistantPart[];
  readonly isCachePoint: boolean;
}

export type AssistantPart = ContentPart | ReasoningPart | CustomPart | SentToolCall;

/** A call as it is sent back: its id fits the provider, and its arguments are a JSON object for certain. */
export interface SentToolCall extends ToolCallPart {
  readonly input: JsonObject;
}

/** The results of the calls of the message before, in the order of the calls, each exactly once. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly results: readonly ToolResultPart[];
  readonly isCachePoint: boolean;
}
