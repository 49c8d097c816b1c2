import type { JsonObject } from '@millrace/core';

/**
 * Options of one picture or file, by provider. The fields are those of its API, and are merged into
 * the content that is sent.
 */
export interface ContentOptions {
  /** Options for OpenAI. Default: none. */
  readonly openai?: OpenaiContentOptions | undefined;
  /** Options for Anthropic. Default: none. */
  readonly anthropic?: AnthropicContentOptions | undefined;
  /** Options for Google. Default: none. */
  readonly google?: GoogleContentOptions | undefined;
  readonly [provider: string]: JsonObject | undefined;
}

/** Options of a picture or file for OpenAI. */
export type OpenaiContentOptions = JsonObject & {
  /** How exactly the model looks at a picture. Default of the API: `auto`. */
  readonly detail?: 'auto' | 'low' | 'high' | 'original';
};

/** Options of a picture or document for Anthropic. */
export type AnthropicContentOptions = JsonObject & {
  /** Whether the answer cites the document. All documents of a request must agree. */
  readonly citations?: { readonly enabled: boolean };
  /** What the document is about. It is not cited. */
  readonly context?: string;
  /** The title of the document. Default: the name of the file. */
  readonly title?: string;
};

/** Options of media for Google. */
export type GoogleContentOptions = JsonObject & {
  /** How many tokens the media become. */
  readonly mediaResolution?: {
    readonly level?:
      | 'MEDIA_RESOLUTION_LOW'
      | 'MEDIA_RESOLUTION_MEDIUM'
      | 'MEDIA_RESOLUTION_HIGH'
      | 'MEDIA_RESOLUTION_ULTRA_HIGH';
    readonly numTokens?: number;
  };
  /** Which part of a video to look at, and how many frames per second. */
  readonly videoMetadata?: JsonObject;
};
