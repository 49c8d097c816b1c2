/** Options of `createUploads`. */
export interface UploadOptions {
  /**
   * Minimum size of an upload in bytes. Smaller attachments are sent inside each request. Default:
   * 131,072 (128 KiB).
   */
  readonly minBytes?: number | undefined;
  /**
   * Maximum size of an upload in bytes. Larger attachments are sent inside each request. The limit
   * of the provider applies too. Default: 268,435,456 (256 MiB).
   */
  readonly maxBytes?: number | undefined;
  /**
   * Maximum number of files that exist at the same time. To make room, the file that was unused for
   * the longest time is deleted. Default: 200.
   */
  readonly maxFiles?: number | undefined;
  /** Maximum number of uploads and deletions at the same time. Default: 4. */
  readonly maxConcurrentTransfers?: number | undefined;
  /**
   * The time in milliseconds after which the provider deletes a file by itself. So it also
   * deletes the files that a crash left behind. Later requests upload their content again. From 1 hour
   * to 30 days. Gemini's files always live for 48 hours. Default: 172,800,000 (48 h).
   */
  readonly lifetimeMs?: number | undefined;
  /** Maximum time of one upload, in milliseconds. Default: 600,000 (10 min). */
  readonly uploadTimeoutMs?: number | undefined;
}

/**
 * Uploads large attachments to providers, so that requests contain only their ids. Several
 * providers and sessions can share one object. Each content is stored once for each account.
 */
export interface Uploads {
  /** The number of contents that are stored, are being uploaded, or were refused by a provider. */
  readonly size: number;
  /**
   * Removes the references of a session. Files without any reference are deleted. A file that a
   * running request uses is deleted when the request ends. Rejects with a `ProviderError` if a file
   * could not be deleted. The next call then tries again.
   */
  release(session: string): Promise<void>;
  /** Removes all references, like `release` for all sessions. Later requests upload nothing. */
  close(): Promise<void>;
}
