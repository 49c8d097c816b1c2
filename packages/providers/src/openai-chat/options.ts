import type { IdRule } from '../history/tool-call-ids.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

export interface ChatOptions extends ApiOptions {
  /** Whose server it is: OpenAI's unless told, and `compatible` where only a base URL is given. */
  readonly preset?: ChatPreset | undefined;
  /** Where the server differs from its preset. */
  readonly dialect?: Partial<ChatDialect> | undefined;
}

export type ChatPreset =
  | 'compatible'
  | 'openai'
  | 'openrouter'
  | 'azure'
  | 'groq'
  | 'mistral'
  | 'deepseek'
  | 'xai'
  | 'together'
  | 'ollama'
  | 'vllm'
  | 'llama.cpp'
  | 'lm-studio'
  | 'litellm';

/** In what the servers of this wire differ. Everything that they share is not in it. */
export interface ChatDialect extends Endpoint {
  /** Has to be asked for usage, and understands the question. */
  readonly asksForUsage: boolean;
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Tells developers from the system; else both are `system`. */
  readonly hasDeveloperRole: boolean;
  readonly reasoningEffort: EffortStyle;
  readonly echoReasoning: EchoStyle;
  readonly ids: IdRule;
  /** What an assistant that only called tools said. */
  readonly emptyContent: null | '';
  readonly namesToolResults: boolean;
  /** Refuses a user after tool results unless the assistant speaks in between. */
  readonly bridgesToolResults: boolean;
  /** Wants `tools`, be it empty, wherever the history has calls. */
  readonly wantsToolsWithCalls: boolean;
  readonly strictTools: boolean;
  /** How structured output is asked for; `json_object` knows no schema. */
  readonly outputFormat: 'json_schema' | 'json_object';
  readonly hasPromptCacheKey: boolean;
  /**
   * What it takes of attachments as they are. Of others text is told as text, and the rest by its
   * name: one that is refused would be so in every later request.
   */
  readonly shows: readonly ('image' | 'pdf' | 'audio')[];
}

/**
 * How the wish for reasoning is said: `reasoning_effort`; OpenRouter's `reasoning` object; DeepSeek's
 * `thinking`; Qwen's and z.ai's `enable_thinking`; or not at all.
 */
export type EffortStyle =
  | 'effort'
  | 'reasoning_object'
  | 'thinking_type'
  | 'enable_thinking'
  | 'none';

/**
 * Which reasoning goes back: none; under the field it came in; the same and '' where there was none;
 * only after the last user's message; or OpenRouter's merged details.
 */
export type EchoStyle = 'none' | 'field' | 'field_always' | 'field_since_user' | 'details';
