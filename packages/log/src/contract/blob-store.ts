/** Bytes beside the records, named by what they are: media, artifacts, large output. */
export interface BlobStore {
  /** Stores them once, however often they come. */
  put(bytes: Uint8Array): Promise<BlobRef>;
  get(hash: string): Promise<Uint8Array | undefined>;
  /** From one byte up to another, the end excluded. */
  slice(hash: string, start: number, end: number): Promise<Uint8Array | undefined>;
}

export interface BlobRef {
  /** SHA-256, in hexadecimal digits. */
  readonly hash: string;
  readonly length: number;
}
