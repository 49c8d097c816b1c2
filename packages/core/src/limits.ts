/** Bounds on what is taken in. Lengths of text are in UTF-16 units, lengths of bytes in bytes. */
export interface Limits {
  /** One append. */
  readonly maxChunkLength: number;
  /** The text of one part. */
  readonly maxTextLength: number;
  /** The bytes of one part; larger media belong into a blob. */
  readonly maxBytesLength: number;
  /** Parts that are open at once, in a session and at one writer. */
  readonly maxOpenParts: number;
  /** Parts of one item. */
  readonly maxParts: number;
  /** A name, a media type, a reason, a signature. */
  readonly maxNameLength: number;
  /** Nesting of arrays and objects in any value: arguments, metadata, structured output. */
  readonly maxDepth: number;
  /** A JSON document as text, be it a record or a transcript. */
  readonly maxDocumentLength: number;
}

export const defaultLimits: Limits = {
  maxChunkLength: 4 * 2 ** 20,
  maxTextLength: 8 * 2 ** 20,
  maxBytesLength: 32 * 2 ** 20,
  maxOpenParts: 1024,
  maxParts: 4096,
  maxNameLength: 2 ** 18,
  maxDepth: 128,
  // A text of which every character needs six in JSON still fits.
  maxDocumentLength: 64 * 2 ** 20,
};

/** The given limits, and the defaults for those that are not. */
export function completeLimits(
  given: { readonly [Name in keyof Limits]?: Limits[Name] | undefined } = {},
): Limits {
  const set = Object.entries(given).filter(([, limit]) => limit !== undefined);
  return set.length === 0 ? defaultLimits : { ...defaultLimits, ...Object.fromEntries(set) };
}
