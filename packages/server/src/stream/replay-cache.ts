import type { Clock } from '@millrace/log';
import { ReadQueue } from '../http/replies/reply-turns.ts';
import type { FrameChunk } from './frames/frame-chunk.ts';

/**
 * The time for which a chunk is cached, in milliseconds. This covers many clients that reconnect at the same
 * time.
 */
const cacheMs = 2_000;

/**
 * Caches replayed chunks for a short time. If many clients reconnect at the same time, for example after a
 * restart, each chunk is read and encoded only once.
 */
export class ReplayCache {
  readonly #maxBytes: number;
  readonly #pending = new Map<string, Promise<FrameChunk | undefined>>();
  /** The cached chunks. The oldest chunk is the first entry. */
  readonly #chunks = new Map<string, FrameChunk>();
  #bytes = 0;
  readonly #creations = new ReadQueue();
  readonly #clock: Clock;
  #stopClearing: (() => void) | undefined;

  constructor(maxBytes: number, clock: Clock) {
    this.#maxBytes = maxBytes;
    this.#clock = clock;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string, create: () => Promise<FrameChunk | undefined>): Promise<FrameChunk | undefined> {
    const cached = this.#chunks.get(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    // The chunks are created one after the other, so that the readers of one session do not delay those of others.
    const created = this.#creations
      .run(create)
      .then((chunk) => {
        if (this.#pending.get(key) === created && chunk !== undefined) this.#store(key, chunk);
        return chunk;
      })
      .finally(() => {
        if (this.#pending.get(key) === created) this.#pending.delete(key);
      });
    this.#pending.set(key, created);
    return created;
  }

  clear(): void {
    this.#pending.clear();
    this.#chunks.clear();
    this.#bytes = 0;
    this.#stopClearing?.();
    this.#stopClearing = undefined;
  }

  #store(key: string, chunk: FrameChunk): void {
    if (chunk.bytes.length > this.#maxBytes) return;
    this.#chunks.set(key, chunk);
    this.#stopClearing ??= this.#clock.after(cacheMs, () => this.clear(), { isIdle: true });
    this.#bytes += chunk.bytes.length;
    for (const [oldest, { bytes }] of this.#chunks) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#chunks.delete(oldest);
      this.#bytes -= bytes.length;
    }
  }
}
