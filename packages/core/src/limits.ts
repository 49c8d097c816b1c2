/**
 * The limits on accepted content. Text lengths are in UTF-16 units, and byte lengths are in bytes.
 */
export interface ContentLimits {
  /** The maximum length of one append. Default: 4 Mi UTF-16 units for text, 4 MiB for bytes. */
  readonly maxChunkLength: number;
  /** The maximum length of the text of one part. Default: 8 Mi UTF-16 units. */
  readonly maxTextLength: number;
  /** The maximum number of bytes in one part. Store larger media as a blob. Default: 32 MiB. */
  readonly maxBytesLength: number;
  /** The maximum number of open parts in a session and in one writer. Default: 1024. */
  readonly maxOpenParts: number;
  /** The maximum number of parts in one item. Default: 4096. */
  readonly maxParts: number;
  /** The maximum length of a name, media type, reason or signature. Default: 256 Ki UTF-16 units. */
  readonly maxNameLength: number;
  /**
   * The maximum nesting of arrays and objects in a value: arguments, metadata, structured output.
   * Default: 128.
   */
  readonly maxDepth: number;
  /**
   * The maximum length of a JSON document, such as a record or a transcript. Default: 64 Mi UTF-16
   * units.
   */
  readonly maxDocumentLength: number;
}

/** The default limits. */
export const defaultContentLimits: ContentLimits = {
  maxChunkLength: 4 * 2 ** 20,
  maxTextLength: 8 * 2 ** 20,
  maxBytesLength: 32 * 2 ** 20,
  maxOpenParts: 1024,
  maxParts: 4096,
  maxNameLength: 2 ** 18,
  maxDepth: 128,
  // A text of the maximum length fits into a document, even if JSON needs six characters for each
  // of its characters.
  maxDocumentLength: 64 * 2 ** 20,
};

/** Returns complete limits: the given limits, and the default for each limit that is undefined. */
export function completeLimits(
  given: { readonly [Name in keyof ContentLimits]?: ContentLimits[Name] | undefined } = {},
): ContentLimits {
  const set = Object.entries(given).filter(([, limit]) => limit !== undefined);
  return set.length === 0
    ? defaultContentLimits
    : { ...defaultContentLimits, ...Object.fromEntries(set) };
}
