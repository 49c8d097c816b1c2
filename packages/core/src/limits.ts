/** Bounds on what is taken in. Lengths of text are in UTF-16 units, lengths of bytes in bytes. */
export interface Limits {
  /** One append. */
  readonly maxChunkLength: number;
  /** The text of one part. */
  readonly maxTextLength: number;
  /** The bytes of one part; larger media belong into a blob. */
  readonly maxBytesLength: number;
  /** Parts of one item that are open at once. */
  readonly maxOpenParts: number;
  /** Nesting of arrays and objects in any JSON: arguments, metadata, whole documents. */
  readonly maxDepth: number;
  /** A JSON document as text, be it a record or a transcript. */
  readonly maxDocumentLength: number;
}

export const defaultLimits: Limits = {
  maxChunkLength: 4 * 2 ** 20,
  maxTextLength: 16 * 2 ** 20,
  maxBytesLength: 32 * 2 ** 20,
  maxOpenParts: 1024,
  maxDepth: 128,
  maxDocumentLength: 64 * 2 ** 20,
};
