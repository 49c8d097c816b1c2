import type { Item, ItemId, JsonObject } from '@millrace/core';
import type { DeclaredBuiltInTool } from './built-in-tool.ts';

/** A request to a model, independent of the provider. Each provider converts it to the format of its API. */
export interface ModelRequest {
  /** The conversation, in order. System and developer items can be at any position. */
  readonly items: readonly Item[];
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The tools that the model may call, or must call. Default: the provider decides, usually `auto`. */
  readonly toolChoice?: ToolChoice | undefined;
  /** The effort with which the model should reason. Default: the model's own default. */
  readonly reasoning?: ReasoningEffort | undefined;
  /** Requests output that matches a schema. The output arrives as a structured part. */
  readonly output?: OutputSchema | undefined;
  /** Maximum number of output tokens. Default: the provider's default. */
  readonly maxOutputTokens?: number | undefined;
  /** The sampling temperature. Default: the provider's default. */
  readonly temperature?: number | undefined;
  /** The nucleus sampling probability. Default: the provider's default. */
  readonly topP?: number | undefined;
  /** Texts that end the answer. Default: none. */
  readonly stopSequences?: readonly string[] | undefined;
  /**
   * The number of answers. The item contains the first answer, and `alternativesOf` reads the other answers.
   * Anthropic and the Responses API support only one answer and reject a higher number. Default: 1.
   */
  readonly candidates?: number | undefined;
  /**
   * Requests the log probability of each token, and of this many likely alternatives to the token (0 to 20).
   * `logprobsOf` reads them from a text part. Anthropic does not support log probabilities and rejects this
   * option. Default: no log probabilities.
   */
  readonly logprobs?: number | undefined;
  /** Prompt caching hints. Default: none. */
  readonly cache?: CacheHints | undefined;
  /**
   * Fields for the request body, by provider: `{ openai: { service_tier: 'flex' } }`. Each provider reads
   * only its own fields. They are added to the fields of the request, but cannot remove any. Default: none.
   */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** A tool that the model can call. */
export interface ToolDefinition {
  /** The name by which the model calls the tool. */
  readonly name: string;
  /** A description for the model. It explains what the tool does and when to use it. */
  readonly description?: string | undefined;
  /** The JSON Schema of the arguments. It must describe an object. */
  readonly inputSchema: JsonObject;
  /**
   * Asks the provider to enforce the schema on the model's arguments. Default: the provider's own
   * default.
   */
  readonly strict?: boolean | undefined;
  /**
   * The built-in tool of a provider whose calls this tool answers. For that provider, the request
   * declares the built-in tool. For other providers, it declares this tool as a function. Default:
   * none.
   */
  readonly answers?: DeclaredBuiltInTool | undefined;
  /**
   * Additional fields of the tool, by provider: `{ anthropic: { defer_loading: true } }`. They are merged
   * like the `providerOptions` of the request. Default: none.
   */
  readonly providerOptions?: ToolProviderOptions | undefined;
}

/**
 * Fields of a tool that only some providers support, by provider. Each provider reads only its own fields.
 */
export interface ToolProviderOptions {
  /** Options for Anthropic. Default: none. */
  readonly anthropic?: AnthropicToolOptions | undefined;
  /** Options for OpenAI. Default: none. */
  readonly openai?: OpenaiToolOptions | undefined;
  readonly [provider: string]: JsonObject | undefined;
}

/** Additional fields of a tool for Anthropic. */
export type AnthropicToolOptions = JsonObject & {
  /** If true, the model gets the definition only after a tool search has found the tool. */
  readonly defer_loading?: boolean;
  /** The callers that may use the tool: the model (`direct`), or code that the model runs in a container. */
  readonly allowed_callers?: readonly string[];
  /** Examples of valid inputs. */
  readonly input_examples?: readonly JsonObject[];
  /**
   * If true, the arguments stream as the model writes them. The arguments may turn out to be invalid JSON.
   */
  readonly eager_input_streaming?: boolean;
};

/** Additional fields of a tool for OpenAI's Responses API. */
export type OpenaiToolOptions = JsonObject & {
  /** If true, the model gets the definition only after a tool search has found the tool. */
  readonly defer_loading?: boolean;
  /**
   * The callers that may use the tool: the model (`direct`), or a program that the model writes
   * (`programmatic`).
   */
  readonly allowed_callers?: readonly ('direct' | 'programmatic')[];
  /** The JSON Schema of the result. */
  readonly output_schema?: JsonObject;
};

/**
 * The tools that the model may call. `required` means that the model must call at least one tool. A name
 * means that the model must call exactly that tool.
 */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The effort with which a model should reason. Each provider converts it to the settings of its models. */
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'max';

/** A JSON Schema that the output must match. */
export interface OutputSchema {
  readonly name: string;
  readonly schema: JsonObject;
  readonly strict?: boolean | undefined;
}

/** Hints for the provider's prompt cache: which prefixes of the conversation to cache. */
export interface CacheHints {
  /**
   * Ids of items. The provider can cache the conversation up to and including each of these items.
   */
  readonly upTo: readonly ItemId[];
  /** Requests a longer cache lifetime, if the provider supports one. Default: false. */
  readonly longLived?: boolean | undefined;
  /**
   * A key that routes requests to the same cache. Use the same key for requests that are likely to have a
   * common prefix.
   */
  readonly key?: string | undefined;
}
