import type { Item, ItemId, JsonObject } from '@millrace/core';

/** What a model is asked, in words that every wire can say. */
export interface ModelRequest {
  /** The context, in order: system and developer items may stand anywhere. */
  readonly items: readonly Item[];
  readonly tools?: readonly ToolDefinition[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  readonly reasoning?: ReasoningEffort | undefined;
  /** Asks for output that fits a schema. It arrives as a structured part. */
  readonly output?: OutputSchema | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly cache?: CacheHints | undefined;
  /** Goes into the request's body as it is, over what we would have put there. */
  readonly providerOptions?: JsonObject | undefined;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  /** Asks the provider to hold the model to the schema. */
  readonly strict?: boolean | undefined;
}

/** `required`: some tool, whichever; a name: that one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'max';

export interface OutputSchema {
  readonly name: string;
  readonly schema: JsonObject;
  readonly strict?: boolean | undefined;
}

/** Where the provider may keep what it has read: up to and including these items. */
export interface CacheHints {
  readonly upTo: readonly ItemId[];
  readonly longLived?: boolean | undefined;
  /** Requests with the same key are likely to share a beginning. */
  readonly key?: string | undefined;
}
