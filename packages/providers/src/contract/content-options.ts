import type { JsonObject } from '@millrace/core';

/**
 * Options for one picture or file, by provider. The fields belong to the provider's API. They are merged into
 * the content of the request.
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

/** Options for a picture or file that is sent to OpenAI. */
export type OpenaiContentOptions = JsonObject & {
  /** The level of detail at which the model reads a picture. Default (set by the API): `auto`. */
  readonly detail?: 'auto' | 'low' | 'high' | 'original';
};

/** Options for a picture or document that is sent to Anthropic. */
export type AnthropicContentOptions = JsonObject & {
  /**
   * With `enabled: true`, the answer should cite the document. All documents of a request must have the same
   * value.
   */
  readonly citations?: { readonly enabled: boolean };
  /** A description of the document for the model. The answer does not cite this description. */
  readonly context?: string;
  /** The title of the document. Default: the name of the file. */
  readonly title?: string;
};

/** Options for media that are sent to Google. */
export type GoogleContentOptions = JsonObject & {
  /** The resolution at which the model reads the media. It determines how many tokens the media cost. */
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
