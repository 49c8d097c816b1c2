import type { ChatTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ToolCallIdRule } from '../history/tool-call-ids.ts';
import type { WindowServer } from '../tokens/context-window.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Options of `openaiChat`. */
export interface ChatOptions extends ApiOptions {
  /**
   * The server. Default: `openai`, or `compatible` if the options contain a base URL but no preset.
   */
  readonly preset?: ChatPreset | undefined;
  /** Differences between the server and its preset. Default: none. */
  readonly dialect?: Partial<ChatDialect> | undefined;
  /**
   * Uploads large attachments once, and requests then contain only their ids. Create it with
   * `createUploads`. Default: each request contains the attachments.
   */
  readonly uploads?: Uploads | undefined;
  /**
   * Tools in the format of the API: custom tools with plain text input, and tools that the server
   * runs. A custom tool replaces the request's tool of the same name. Default: none.
   */
  readonly extraTools?: readonly ChatTool[] | undefined;
}

/** The servers with known settings. */
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

/** The differences between servers of this API. */
export interface ChatDialect extends Endpoint {
  /** True if the server reports usage only on request, and accepts that request. */
  readonly asksForUsage: boolean;
  /** The field for the maximum number of output tokens. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /**
   * Whether the server has a `developer` role. Otherwise developer messages get the role `system`.
   */
  readonly hasDeveloperRole: boolean;
  /** How to request reasoning. */
  readonly reasoningEffort: ReasoningEffortStyle;
  /** The reasoning that requests send back. */
  readonly echoReasoning: ReasoningEchoStyle;
  /** The tool call ids that the server accepts. */
  readonly ids: ToolCallIdRule;
  /** The content of an assistant message that contains only calls. */
  readonly emptyContent: null | '';
  /** Whether tool results contain the name of the tool. */
  readonly namesToolResults: boolean;
  /**
   * True if the server rejects a user message directly after tool results. An assistant message is
   * then inserted.
   */
  readonly needsMessageAfterToolResults: boolean;
  /** True if the server requires `tools` when the history has calls, even if the list is empty. */
  readonly needsToolsWithCalls: boolean;
  /** Whether tools can be strict. */
  readonly strictTools: boolean;
  /** How to request structured output. `json_object` has no schema. */
  readonly outputFormat: 'json_schema' | 'json_object';
  /** The field that routes requests with the same prefix to the same cache. */
  readonly cacheKeyField: 'prompt_cache_key' | 'session_id' | 'none';
  /**
   * Texts that identify models by name. These models cache only content that `cache_control` marks.
   */
  readonly cacheControlModels: readonly string[];
  /** The endpoint that counts tokens. `tokenize` is the endpoint of vLLM. Default: none. */
  readonly countsTokens?: 'input_tokens' | 'tokenize' | undefined;
  /** The kind of the server, if it reports the context window of its models. Default: it does not. */
  readonly windowServer?: WindowServer | undefined;
  /**
   * True if the server silently cuts a request that is too long. Such a request is then refused
   * instead of sent. Default: false.
   */
  readonly cutsRequests?: boolean | undefined;
  /**
   * The attachments that the server accepts. Other text files are sent as text, and of other files
   * only the name is sent. A rejected attachment would make every later request fail.
   */
  readonly attachmentTypes: readonly ('image' | 'pdf' | 'audio')[];
}

/**
 * How to request reasoning.
 *
 * - `effort`: with `reasoning_effort`.
 * - `reasoning_object`: with the `reasoning` object of OpenRouter.
 * - `thinking_type`: with the `thinking` object of DeepSeek.
 * - `enable_thinking`: with the `enable_thinking` of Qwen and z.ai.
 * - `ollama`: with `reasoning_effort`. Ollama rejects a level for models without levels.
 * - `none`: not at all.
 */
export type ReasoningEffortStyle =
  | 'effort'
  | 'reasoning_object'
  | 'thinking_type'
  | 'enable_thinking'
  | 'ollama'
  | 'none';

/**
 * The reasoning that requests send back.
 *
 * - `none`: none.
 * - `field`: all, in the field in which it arrived.
 * - `field_always`: like `field`, with '' if there was no reasoning.
 * - `field_since_user`: like `field`, but only after the last user message.
 * - `details`: the merged details of OpenRouter.
 */
export type ReasoningEchoStyle = 'none' | 'field' | 'field_always' | 'field_since_user' | 'details';
