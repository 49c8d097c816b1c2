import type { JsonObject } from '@millrace/core';

/**
 * Options of one picture or file, by provider. The fields are those of the provider's API. They are
 * merged into the content that is sent.
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
  /** The level of detail at which the model reads a picture. Default of the API: `auto`. */
  readonly detail?: 'auto' | 'low' | 'high' | 'original';
};

/** Options of a picture or document for Anthropic. */
export type AnthropicContentOptions = JsonObject & {
  /** Whether the answer cites the document. All documents of a request must have the same value. */
  readonly citations?: { readonly enabled: boolean };
  /** A description of the document. The answer does not cite it. */
  readonly context?: string;
  /** The title of the document. Default: the name of the file. */
  readonly title?: string;
};

/** Options of media for Google. */
export type GoogleContentOptions = JsonObject & {
  /** The resolution of the media, which determines their number of tokens. */
  readonly mediaResolution?: {
    readonly level?:
      | 'MEDIA_RESOLUTION_LOW'
      | 'MEDIA_RESOLUTION_MEDIUM'
      | 'MEDIA_RESOLUTION_HIGH'
      | 'MEDIA_RESOLUTION_ULTRA_HIGH';
    readonly numTokens?: number;
  };
  /** The section of a video to read, and the number of frames per second. */
  readonly videoMetadata?: JsonObject;
};
