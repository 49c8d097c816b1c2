/** Options of `createUploads`. */
export interface UploadOptions {
  /** Smaller attachments are sent inside of each request. In bytes. Default: 131,072 (128 KiB). */
  readonly minBytes?: number | undefined;
  /**
   * Larger attachments are sent inside of each request. In bytes. Default: 268,435,456 (256 MiB). The
   * limit of the provider applies too.
   */
  readonly maxBytes?: number | undefined;
  /**
   * Maximum number of files that exist at the same time. The file that was not used for the longest
   * time is deleted to make room. Default: 200.
   */
  readonly maxFiles?: number | undefined;
  /** Maximum number of uploads and deletions at the same time. Default: 4. */
  readonly maxConcurrentTransfers?: number | undefined;
  /**
   * After this time the provider deletes a file by itself, so that a crash leaves nothing for good.
   * The content is uploaded again if it is still needed. From 1 hour to 30 days. Gemini's files
   * always live for 48 hours. Default: 172,800,000 (48 h).
   */
  readonly lifetimeMs?: number | undefined;
  /** Maximum time of one upload. Default: 600,000 (10 min). */
  readonly uploadTimeoutMs?: number | undefined;
}

/**
 * Large attachments that providers store, so that requests only name them. Several providers and
 * sessions can share one object: each content is stored once for each account.
 */
export interface Uploads {
  /** Number of contents that are stored, being uploaded, or known to be refused. */
  readonly size: number;
  /**
   * Ends the references of a session. Files without any reference are deleted. A file that a running
   * request uses is deleted when the request ends. Rejects with a `ProviderError` if a file could not
   * be deleted; the next call tries again.
   */
  release(session: string): Promise<void>;
  /** Ends all references, like `release` of all sessions. Later requests upload nothing. */
  close(): Promise<void>;
}
