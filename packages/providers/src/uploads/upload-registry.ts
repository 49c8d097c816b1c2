import { ProviderError } from '../contract/provider-error.ts';
import type { Uploads } from '../contract/uploads.ts';
import { Semaphore } from '../transport/semaphore.ts';
import type { FileStorage, StoredFile, UploadContent } from './file-storage.ts';

/** The options of `createUploads` with all defaults. */
export interface UploadSettings {
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly maxConcurrentTransfers: number;
  readonly lifetimeMs: number;
  readonly uploadTimeoutMs: number;
}

/** The outcome of an upload: a file, or the reason why requests must contain the content itself. */
type Outcome =
  | { readonly file: StoredFile }
  | { readonly refusal: string; readonly untilMs: number };

/** The upload of one content to one account. */
export interface Upload {
  readonly key: string;
  readonly storage: FileStorage;
  /** The sessions that sent the content. `undefined` represents all requests without a session. */
  readonly holders: Set<string | undefined>;
  /** Resolves with the outcome. It never rejects. */
  readonly outcome: Promise<Outcome>;
  /** The outcome of the upload. Undefined while the upload runs. */
  known: Outcome | undefined;
  /** The number of running requests that refer to the file. */
  uses: number;
  /** True if the provider no longer has the file. */
  isLost: boolean;
  /**
   * True if a newer upload has replaced this one, or if no session needs it any more. The file is deleted
   * after its last use.
   */
  isRetired: boolean;
  isRemoved: boolean;
}

/**
 * A file is replaced this long before it expires, in milliseconds. The margin is needed because a request may
 * wait in a queue and take a long time.
 */
const expiryMarginMs = 600_000;

/** If an upload failed because of a temporary problem, it is tried again after this time, in milliseconds. */
const refusalMs = 3_600_000;

const maxAttempts = 3;
const firstDelayMs = 500;
const maxDelayMs = 10_000;

/** Counts the references to uploaded contents, by account and by the hash of the content. */
export class UploadRegistry implements Uploads {
  readonly settings: UploadSettings;
  /** The uploads. The least recently used upload is first. */
  readonly #uploads = new Map<string, Upload>();
  readonly #removals = new Set<Promise<void>>();
  /** The files whose deletion failed, each with the error. `release` and `close` try to delete them again. */
  readonly #undeleted = new Map<Upload, unknown>();
  readonly #transfers: Semaphore;
  #isClosed = false;

  constructor(settings: UploadSettings) {
    this.settings = settings;
    this.#transfers = new Semaphore(settings.maxConcurrentTransfers);
  }

  get size(): number {
    return this.#uploads.size;
  }

  /**
   * Returns the upload of a content and counts one use. `endUse` ends the use. If there is no such upload, it
   * starts one. Returns undefined if the maximum number of files is in use, or after `close`.
   */
  use(
    storage: FileStorage,
    content: UploadContent,
    hash: string,
    holder: string | undefined,
  ): Upload | undefined {
    if (this.#isClosed) return undefined;
    const key = JSON.stringify([storage.accountId, content.mimeType, hash]);
    const found = this.#uploads.get(key);
    const isUsable = found !== undefined && !isOver(found);
    if (found === undefined && !this.#makeRoom()) return undefined;
    const upload = isUsable ? found : this.#start(key, storage, content, found?.holders);
    upload.uses++;
    upload.holders.add(holder);
    // The upload moves to the end of the map, because it is now the most recently used one.
    this.#uploads.delete(key);
    this.#uploads.set(key, upload);
    if (found !== undefined && !isUsable) this.#retire(found);
    return upload;
  }

  endUse(upload: Upload): void {
    upload.uses--;
    if (upload.uses > 0) return;
    if (upload.isRetired || upload.holders.size === 0) this.#retire(upload);
  }

  /** Marks a file that the provider no longer has. At the next use, the content is uploaded again. */
  markLost(upload: Upload): void {
    upload.isLost = true;
  }

  /** Marks a file that the provider rejects in requests. Later uses get this error as their outcome. */
  refuse(upload: Upload, refusal: string): void {
    if (this.#uploads.get(upload.key) !== upload) return;
    const known: Outcome = { refusal, untilMs: Infinity };
    const refused = { ...newUpload(upload, Promise.resolve(known)), known };
    this.#uploads.set(upload.key, refused);
    this.#retire(upload);
  }

  async release(session: string): Promise<void> {
    for (const upload of [...this.#uploads.values()]) {
      if (upload.holders.delete(session)) this.#retireIfUnused(upload);
    }
    await this.#finishRemovals();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const upload of [...this.#uploads.values()]) {
      upload.holders.clear();
      this.#retireIfUnused(upload);
    }
    await this.#finishRemovals();
  }

  #start(
    key: string,
    storage: FileStorage,
    content: UploadContent,
    holders: ReadonlySet<string | undefined> = new Set(),
  ): Upload {
    const outcome = this.#upload(storage, content).then((known) => {
      upload.known = known;
      return known;
    });
    const upload = newUpload({ key, storage, holders }, outcome);
    return upload;
  }

  async #upload(storage: FileStorage, content: UploadContent): Promise<Outcome> {
    try {
      return { file: await this.#transfer(storage, () => storage.upload(content)) };
    } catch (error) {
      const isTemporary = error instanceof ProviderError && error.retryable;
      const untilMs = isTemporary ? storage.clock.now() + refusalMs : Infinity;
      return { refusal: error instanceof Error ? error.message : String(error), untilMs };
    }
  }

  /** Runs an upload or a deletion when a slot is free. It tries again after a temporary problem. */
  async #transfer<T>(storage: FileStorage, run: () => Promise<T>): Promise<T> {
    const free = await this.#transfers.acquire();
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await run();
        } catch (error) {
          const isFinal = !(error instanceof ProviderError) || !error.retryable;
          if (isFinal || attempt === maxAttempts) throw error;
          const ms = error.retryAfterMs ?? firstDelayMs * 2 ** (attempt - 1);
          await new Promise<void>((resolve) => {
            storage.clock.after(Math.min(ms, maxDelayMs), resolve);
          });
        }
      }
    } finally {
      free();
    }
  }

  /** Makes space for one more upload. Returns false if all uploads are in use. */
  #makeRoom(): boolean {
    if (this.#uploads.size < this.settings.maxFiles) return true;
    for (const upload of this.#uploads.values()) {
      if (upload.uses > 0) continue;
      this.#retire(upload);
      return true;
    }
    return false;
  }

  #retireIfUnused(upload: Upload): void {
    if (upload.holders.size === 0 && upload.uses === 0) this.#retire(upload);
  }

  /** Removes the upload from the map. If no request uses its file, the file is deleted. */
  #retire(upload: Upload): void {
    upload.isRetired = true;
    if (this.#uploads.get(upload.key) === upload) this.#uploads.delete(upload.key);
    if (upload.uses > 0 || upload.isRemoved) return;
    upload.isRemoved = true;
    this.#remove(upload);
  }

  #remove(upload: Upload): void {
    const removal = this.#deleteFile(upload)
      .catch((error) => {
        this.#undeleted.set(upload, error);
        // The list must not grow without limit, so the oldest entry is removed. The provider deletes that
        // file when it expires.
        const [oldest] = this.#undeleted.keys();
        if (oldest && this.#undeleted.size > this.settings.maxFiles) this.#undeleted.delete(oldest);
      })
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  async #deleteFile({ outcome, storage }: Upload): Promise<void> {
    const known = await outcome;
    if ('file' in known) await this.#transfer(storage, () => storage.remove(known.file));
  }

  async #finishRemovals(): Promise<void> {
    const again = [...this.#undeleted.keys()];
    this.#undeleted.clear();
    for (const upload of again) this.#remove(upload);
    await Promise.all(this.#removals);
    const [failure] = this.#undeleted.values();
    if (failure !== undefined) throw failure;
  }
}

function newUpload(
  {
    key,
    storage,
    holders,
  }: Pick<Upload, 'key' | 'storage'> & { holders: ReadonlySet<string | undefined> },
  outcome: Promise<Outcome>,
): Upload {
  const none = { known: undefined, uses: 0, isLost: false, isRetired: false, isRemoved: false };
  return { key, storage, holders: new Set(holders), outcome, ...none };
}

/** Returns whether the upload must be replaced before its next use. */
function isOver({ isLost, known, storage }: Upload): boolean {
  if (isLost) return true;
  if (known === undefined) return false;
  const nowMs = storage.clock.now();
  if ('file' in known) return known.file.expiresAtMs - expiryMarginMs <= nowMs;
  return known.untilMs <= nowMs;
}
