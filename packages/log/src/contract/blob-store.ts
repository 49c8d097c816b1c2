/**
 * Stores large binary content beside the records: media, artifacts, large tool output. A blob is
 * identified by the hash of its bytes.
 */
export interface BlobStore {
  /** Stores the bytes and returns a reference to them. The same bytes are stored only once. */
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** Returns the whole blob, or `undefined` if it does not exist. */
  get(hash: string): Promise<Uint8Array | undefined>;
  /**
   * Returns the bytes from `start` to `end`, without the byte at `end`. Returns `undefined` if the blob
   * does not exist.
   */
  slice(hash: string, start: number, end: number): Promise<Uint8Array | undefined>;
}

/** A reference to a stored blob. */
export interface BlobRef {
  /** SHA-256 of the bytes, as hexadecimal digits. */
  readonly hash: string;
  /** Number of bytes. */
  readonly length: number;
}
