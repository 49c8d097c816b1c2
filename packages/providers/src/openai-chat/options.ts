import type { ChatTool } from '../contract/hosted-tools.ts';
import type { Uploads } from '../contract/uploads.ts';
import type { ToolCallIdRule } from '../history/tool-call-ids.ts';
import type { WindowServer } from '../tokens/context-window.ts';
import type { ApiOptions } from '../wire/api-options.ts';
import type { Endpoint } from '../wire/endpoint.ts';

/** Options of `openaiChat`. */
export interface ChatOptions extends ApiOptions {
  /** The server. Default: `openai`, or `compatible` if only a base URL is given. */
  readonly preset?: ChatPreset | undefined;
  /** Differences between the server and its preset. Default: none. */
  readonly dialect?: Partial<ChatDialect> | undefined;
  /**
   * Uploads large attachments once, so that requests only name them. Made by `createUploads`.
   * Default: attachments are sent inside of each request.
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

/** How the servers of this API differ. It contains nothing that they all share. */
export interface ChatDialect extends Endpoint {
  /** True if the server reports usage only on request, and understands the request. */
  readonly asksForUsage: boolean;
  /** The field for the maximum number of output tokens. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** True if the server has a `developer` role. Otherwise developer messages become `system`. */
  readonly hasDeveloperRole: boolean;
  /** How to request reasoning. */
  readonly reasoningEffort: ReasoningEffortStyle;
  /** Which reasoning is sent back. */
  readonly echoReasoning: ReasoningEchoStyle;
  /** The tool call ids that the server accepts. */
  readonly ids: ToolCallIdRule;
  /** The content of an assistant message that has only calls. */
  readonly emptyContent: null | '';
  /** Whether tool results contain the name of the tool. */
  readonly namesToolResults: boolean;
  /**
   * True if the server rejects a user message directly after tool results. An assistant message is
   * inserted.
   */
  readonly needsMessageAfterToolResults: boolean;
  /** True if the server requires `tools`, even if empty, when the history has calls. */
  readonly needsToolsWithCalls: boolean;
  /** Whether tools can be strict. */
  readonly strictTools: boolean;
  /** How to request structured output. `json_object` has no schema. */
  readonly outputFormat: 'json_schema' | 'json_object';
  /** The field that routes requests with the same prefix to the same cache. */
  readonly cacheKeyField: 'prompt_cache_key' | 'session_id' | 'none';
  /** Models that cache only what `cache_control` marks: texts that their names contain. */
  readonly cacheControlModels: readonly string[];
  /** The endpoint that counts tokens. `tokenize` is vLLM's. Default: none. */
  readonly countsTokens?: 'input_tokens' | 'tokenize' | undefined;
  /** The server that tells the context window of its models. Default: none. */
  readonly windowServer?: WindowServer | undefined;
  /**
   * True if the server cuts a request that is too long without an error. Such a request is not sent.
   * Default: false.
   */
  readonly cutsRequests?: boolean | undefined;
  /**
   * The attachments that the server accepts. Other text files are sent as text, and other files are
   * only named, because a rejected attachment would fail every later request.
   */
  readonly attachmentTypes: readonly ('image' | 'pdf' | 'audio')[];
}

/**
 * How to request reasoning: `reasoning_effort`; OpenRouter's `reasoning` object; DeepSeek's
 * `thinking`; the `enable_thinking` of Qwen and z.ai; `reasoning_effort` as Ollama takes it, which
 * rejects a level for models without levels; or not at all.
 */
export type ReasoningEffortStyle =
  | 'effort'
  | 'reasoning_object'
  | 'thinking_type'
  | 'enable_thinking'
  | 'ollama'
  | 'none';

/**
 * Which reasoning is sent back: none; in the field in which it arrived; the same, with '' if there
 * was none; only after the last user message; or OpenRouter's merged details.
 */
export type ReasoningEchoStyle = 'none' | 'field' | 'field_always' | 'field_since_user' | 'details';
