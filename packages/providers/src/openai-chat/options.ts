import type { ChatTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ToolCallIdRule } from '../history/tool-call-ids.ts';
import type { WindowServer } from '../tokens/context-window.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Options of `openaiChat`. */
export interface ChatOptions extends ApiOptions {
  /** The server. Default: `openai`. If the options contain a base URL but no preset: `compatible`. */
  readonly preset?: ChatPreset | undefined;
  /** Settings in which the server differs from its preset. Default: none. */
  readonly dialect?: Partial<ChatDialect> | undefined;
  /**
   * Uploads large attachments once, so that requests contain only their ids. Create it with `createUploads`.
   * Default: each request contains the attachments.
   */
  readonly uploads?: Uploads | undefined;
  /**
   * Tools in the format of the API: custom tools with plain text input, and tools that the server runs. If
   * the request has a tool with the same name as a custom tool, the custom tool replaces it. Default: none.
   */
  readonly extraTools?: readonly ChatTool[] | undefined;
}

/** The servers for which this package has settings. */
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

/** The settings in which servers of this API differ. */
export interface ChatDialect extends Endpoint {
  /** True if the server reports usage only when a request asks for it. */
  readonly asksForUsage: boolean;
  /** The name of the field for the maximum number of output tokens. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** True if the server has a `developer` role. Otherwise developer messages get the role `system`. */
  readonly hasDeveloperRole: boolean;
  /** The way to request reasoning. */
  readonly reasoningEffort: ReasoningEffortStyle;
  /** The reasoning of earlier answers that requests send back. */
  readonly echoReasoning: ReasoningEchoStyle;
  /** The rule for tool call ids that the server accepts. */
  readonly ids: ToolCallIdRule;
  /** The content of an assistant message that contains only tool calls. */
  readonly emptyContent: null | '';
  /** True if tool results must contain the name of the tool. */
  readonly namesToolResults: boolean;
  /**
   * True if the server rejects a user message directly after tool results. In this case, an assistant message
   * is inserted.
   */
  readonly needsMessageAfterToolResults: boolean;
  /** True if the server requires the field `tools` when the history has calls. The list may be empty. */
  readonly needsToolsWithCalls: boolean;
  /** True if the server accepts `strict` for tools. */
  readonly strictTools: boolean;
  /** The way to request structured output. `json_object` requests JSON without a schema. */
  readonly outputFormat: 'json_schema' | 'json_object';
  /** The name of the field that routes requests with the same prefix to the same cache. */
  readonly cacheKeyField: 'prompt_cache_key' | 'session_id' | 'none';
  /** Texts in model names that identify models which cache only content with `cache_control`. */
  readonly cacheControlModels: readonly string[];
  /** The endpoint for counting tokens. `tokenize` is the endpoint of vLLM. Default: none. */
  readonly countsTokens?: 'input_tokens' | 'tokenize' | undefined;
  /**
   * The kind of the server, if it reports the size of a model's context window. Default: the server does not
   * report it.
   */
  readonly windowServer?: WindowServer | undefined;
  /**
   * True if the server silently truncates a request that is too long. The provider then rejects such a
   * request and does not send it. Default: false.
   */
  readonly cutsRequests?: boolean | undefined;
  /**
   * The types of attachments that the server accepts. A text file of any other type is sent as text. For all
   * other files, only the name is sent. If the server rejected an attachment, every later request would fail
   * too.
   */
  readonly attachmentTypes: readonly ('image' | 'pdf' | 'audio')[];
}

/**
 * The way to request reasoning.
 *
 * - `effort`: with `reasoning_effort`.
 * - `reasoning_object`: with the `reasoning` object of OpenRouter.
 * - `thinking_type`: with the `thinking` object of DeepSeek.
 * - `enable_thinking`: with the `enable_thinking` of Qwen and z.ai.
 * - `ollama`: with `reasoning_effort`. Ollama rejects an effort level for models that have no levels.
 * - `none`: reasoning cannot be requested.
 */
export type ReasoningEffortStyle =
  | 'effort'
  | 'reasoning_object'
  | 'thinking_type'
  | 'enable_thinking'
  | 'ollama'
  | 'none';

/**
 * The reasoning of earlier answers that requests send back.
 *
 * - `none`: no reasoning.
 * - `field`: all reasoning, in the same field in which it arrived.
 * - `field_always`: like `field`, but with an empty text if there was no reasoning.
 * - `field_since_user`: like `field`, but only the reasoning after the last user message.
 * - `details`: the merged details of OpenRouter.
 */
export type ReasoningEchoStyle = 'none' | 'field' | 'field_always' | 'field_since_user' | 'details';
