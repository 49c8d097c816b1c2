import { type Clock, systemClock } from '@millrace/agent';

export interface FileListOptions {
  /** Looks for the files anew. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** The list is another one. */
  readonly onChange: (files: readonly string[]) => void;
  /** For so long a list is good enough. 10 s unless told. */
  readonly maxAgeMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** The files of a workspace as far as they are known: looked for when first wanted, and again when they are old. */
export class FileList {
  readonly #options: FileListOptions;
  readonly #stop = new AbortController();
  #files: readonly string[] = [];
  #listedMs = Number.NEGATIVE_INFINITY;
  #listing: Promise<void> | undefined;

  constructor(options: FileListOptions) {
    this.#options = options;
  }

  get files(): readonly string[] {
    return this.#files;
  }

  /** Settles when the list is no older than it may be. What cannot be listed stays as it was. */
  refresh(): Promise<void> {
    const { clock = systemClock, maxAgeMs = 10_000 } = this.#options;
    const isFresh = clock.now() - this.#listedMs < maxAgeMs;
    if (this.#stop.signal.aborted || isFresh) return this.#listing ?? Promise.resolve();
    this.#listing ??= this.#list(clock).finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  /** Ends what is under way. */
  close(): void {
    this.#stop.abort();
  }

  async #list(clock: Clock): Promise<void> {
    const { list, onChange } = this.#options;
    const files = await list(this.#stop.signal).catch(() => undefined);
    // A list that failed is not asked for at each key either.
    this.#listedMs = clock.now();
    if (files === undefined || this.#stop.signal.aborted || isSame(files, this.#files)) return;
    this.#files = files;
    onChange(files);
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((path, index) => path === b[index]);
}
