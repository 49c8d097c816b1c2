/** Options of `createUploads`. */
export interface UploadOptions {
  /**
   * Minimum size of an upload in bytes. Each request contains smaller attachments directly. Default: 131,072
   * (128 KiB).
   */
  readonly minBytes?: number | undefined;
  /**
   * Maximum size of an upload in bytes. Each request contains larger attachments directly. The provider's own
   * limit also applies. Default: 268,435,456 (256 MiB).
   */
  readonly maxBytes?: number | undefined;
  /**
   * Maximum number of files that exist at the same time. If there are more, the least recently used file is
   * deleted. Default: 200.
   */
  readonly maxFiles?: number | undefined;
  /** Maximum number of uploads and deletions at the same time. Default: 4. */
  readonly maxConcurrentTransfers?: number | undefined;
  /**
   * The time in milliseconds after which the provider itself deletes a file. Files that remain after a crash
   * are therefore deleted too. Later requests upload their content again. From 1 hour to 30 days. Gemini's
   * files always exist for 48 hours. Default: 172,800,000 (48 h).
   */
  readonly lifetimeMs?: number | undefined;
  /** Maximum time of one upload, in milliseconds. Default: 600,000 (10 min). */
  readonly uploadTimeoutMs?: number | undefined;
}

/**
 * Uploads large attachments to providers, so that requests contain only their ids. Several providers and
 * sessions can share one `Uploads` object. The same content is stored only once per account.
 */
export interface Uploads {
  /** The number of contents that are stored, are being uploaded, or were rejected by a provider. */
  readonly size: number;
  /**
   * Removes the references of a session. Files that have no more references are deleted. If a running request
   * uses a file, the file is deleted when the request ends. Rejects with a `ProviderError` if a file could
   * not be deleted. The next call then tries again.
   */
  release(session: string): Promise<void>;
  /** Removes all references, like `release` for all sessions. After that, requests do not upload files. */
  close(): Promise<void>;
}
