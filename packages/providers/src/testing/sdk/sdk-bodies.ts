import type {
  MessageCreateParamsStreaming as BetaMessages,
  MessageCreateParamsBase as BetaMessagesBase,
} from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { MessageCreateParamsStreaming as Messages } from '@anthropic-ai/sdk/resources/messages/messages';
import type {
  Content,
  GenerationConfig,
  SafetySetting,
  ServiceTier,
  Tool,
  ToolConfig,
} from '@google/genai';
import type {
  ChatCompletionCreateParamsBase,
  ChatCompletionCreateParamsStreaming,
} from 'openai/resources/chat/completions/completions';
import type {
  ResponseCreateParamsBase,
  ResponseCreateParamsStreaming,
} from 'openai/resources/responses/responses';

/** The parameters that Anthropic's SDK sends as headers. */
type AnthropicHeaderFields = 'betas' | 'user_profile_id' | 'workspace_id';

/** The body of a Messages request without beta features. */
export type MessagesBody = Omit<Messages, AnthropicHeaderFields>;

/** The body of a Messages request with an `anthropic-beta` header. */
export type BetaMessagesBody = Omit<BetaMessages, AnthropicHeaderFields>;

/** The body of a Chat Completions request. */
export type ChatBody = ChatCompletionCreateParamsStreaming;

/** The body of a Responses request. */
export type ResponsesBody = ResponseCreateParamsStreaming;

/**
 * The bodies of requests, with or without streaming. The tables of fields are made from these
 * types.
 */
export interface AnyMessagesBody extends Omit<BetaMessagesBase, AnthropicHeaderFields> {}
export interface AnyChatBody extends ChatCompletionCreateParamsBase {}
export interface AnyResponsesBody extends ResponseCreateParamsBase {}

/**
 * The body of a Gemini request, in the types of Google's SDK. The SDK sends these fields, but has
 * no type for the whole body, because its own parameters have another structure.
 */
export interface GeminiRequest {
  readonly contents: Content[];
  readonly systemInstruction?: Content;
  readonly tools?: Tool[];
  readonly toolConfig?: ToolConfig;
  readonly safetySettings?: SafetySetting[];
  readonly generationConfig?: GenerationConfig;
  readonly cachedContent?: string;
  readonly labels?: Record<string, string>;
  readonly serviceTier?: ServiceTier;
}

/** The same body with enums as texts, because JSON has no enums. */
export type GeminiBody = WithoutEnums<GeminiRequest>;

type WithoutEnums<T> = T extends string
  ? `${T}`
  : T extends object
    ? { [Key in keyof T]: WithoutEnums<T[Key]> }
    : T;
