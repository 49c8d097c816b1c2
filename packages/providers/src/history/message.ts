import type {
  CustomPart,
  JsonObject,
  ReasoningPart,
  StructuredPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '@millrace/core';
import type { Attachment } from './attachment.ts';

/**
 * The messages from which each provider builds its request. All their content can be sent. A `providerState`
 * belongs to this provider. Reasoning and custom parts came from this provider. Each call has a result.
 */
export type Message = InputMessage | AssistantMessage | ToolMessage;

/** A message of the system, the developer or the user. */
export interface InputMessage {
  readonly role: 'system' | 'developer' | 'user';
  readonly parts: readonly ContentPart[];
  readonly isCachePoint: boolean;
}

export type ContentPart = TextPart | StructuredPart | Attachment;

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly parts: readonly AssistantPart[];
  readonly isCachePoint: boolean;
}

export type AssistantPart = ContentPart | ReasoningPart | CustomPart | SentToolCall;

/**
 * A tool call in the form in which it is sent back. Its id follows the provider's rules, and its arguments
 * are a JSON object.
 */
export interface SentToolCall extends ToolCallPart {
  readonly input: JsonObject;
}

/**
 * The results of the calls in the previous message, in the order of the calls. Each call has
 * exactly one result.
 */
export interface ToolMessage {
  readonly role: 'tool';
  readonly results: readonly ToolResultPart[];
  readonly isCachePoint: boolean;
}
