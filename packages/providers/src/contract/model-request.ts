import type { Item, ItemId, JsonObject } from '@millrace/core';
import type { DeclaredBuiltInTool } from './built-in-tool.ts';

/** A request to a model, independent of any provider. Each wire converts it to its own format. */
export interface ModelRequest {
  /** The conversation, in order. System and developer items can be at any position. */
  readonly items: readonly Item[];
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The tools that the model may or must call. Default: the provider decides, usually `auto`. */
  readonly toolChoice?: ToolChoice | undefined;
  /** How much the model should reason. Default: the model's own default. */
  readonly reasoning?: ReasoningEffort | undefined;
  /** Requests output that fits a schema. The output arrives as a structured part. */
  readonly output?: OutputSchema | undefined;
  /** Maximum number of output tokens. Default: that of the provider. */
  readonly maxOutputTokens?: number | undefined;
  /** The sampling temperature. Default: that of the provider. */
  readonly temperature?: number | undefined;
  /** The nucleus sampling probability. Default: that of the provider. */
  readonly topP?: number | undefined;
  /** Texts that end the answer. Default: none. */
  readonly stopSequences?: readonly string[] | undefined;
  /**
   * The number of answers. The first answer is the item, and `alternativesOf` reads the others.
   * Anthropic and the Responses API have only one answer and refuse more. Default: 1.
   */
  readonly candidates?: number | undefined;
  /**
   * Asks for the log probability of each token, and of this many likely alternatives to it (0 to
   * 20). `logprobsOf` reads them from a text part. Anthropic has no log probabilities and refuses
   * this option. Default: no log probabilities.
   */
  readonly logprobs?: number | undefined;
  /** Prompt caching hints. Default: none. */
  readonly cache?: CacheHints | undefined;
  /**
   * Fields for the request body, by provider: `{ openai: { service_tier: 'flex' } }`. Each provider
   * reads only its own fields. They are merged with the fields of the request and cannot remove
   * any. Default: none.
   */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** A tool that the model can call. */
export interface ToolDefinition {
  /** The name by which the model calls the tool. */
  readonly name: string;
  /** A description for the model: what the tool does and when to use it. */
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
   * Fields of the tool, by provider: `{ anthropic: { defer_loading: true } }`. They are merged like
   * the `providerOptions` of the request. Default: none.
   */
  readonly providerOptions?: ToolProviderOptions | undefined;
}

/**
 * Fields of a tool that only some providers have, by provider. Each provider reads only its own
 * fields.
 */
export interface ToolProviderOptions {
  /** Options for Anthropic. Default: none. */
  readonly anthropic?: AnthropicToolOptions | undefined;
  /** Options for OpenAI. Default: none. */
  readonly openai?: OpenaiToolOptions | undefined;
  readonly [provider: string]: JsonObject | undefined;
}

/** Fields of a tool for Anthropic. */
export type AnthropicToolOptions = JsonObject & {
  /** Whether the model gets the definition only after a tool search found the tool. */
  readonly defer_loading?: boolean;
  /** Who may call the tool: the model (`direct`), or its code in a container. */
  readonly allowed_callers?: readonly string[];
  /** Examples of valid inputs. */
  readonly input_examples?: readonly JsonObject[];
  /**
   * If true, the arguments stream as the model writes them. They can turn out to be invalid JSON.
   */
  readonly eager_input_streaming?: boolean;
};

/** Fields of a tool for OpenAI's Responses API. */
export type OpenaiToolOptions = JsonObject & {
  /** Whether the model gets the definition only after a tool search found the tool. */
  readonly defer_loading?: boolean;
  /** Who may call the tool: the model (`direct`), or its program (`programmatic`). */
  readonly allowed_callers?: readonly ('direct' | 'programmatic')[];
  /** The JSON Schema of the result. */
  readonly output_schema?: JsonObject;
};

/**
 * The tools that the model may call. `required` means any tool, but at least one. A name means
 * exactly that tool.
 */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** How much a model should reason. Each wire converts it to the settings of its models. */
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'max';

/** A JSON Schema that the output must match. */
export interface OutputSchema {
  readonly name: string;
  readonly schema: JsonObject;
  readonly strict?: boolean | undefined;
}

/** Hints about which prefixes of the conversation the provider should cache. */
export interface CacheHints {
  /**
   * Ids of items. The provider can cache the conversation up to and including each of these items.
   */
  readonly upTo: readonly ItemId[];
  /** Asks for a longer cache lifetime, if the provider has one. Default: false. */
  readonly longLived?: boolean | undefined;
  /** A cache routing key. Use the same key for requests that are likely to share a prefix. */
  readonly key?: string | undefined;
}
