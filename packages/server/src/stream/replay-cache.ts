import type { Clock } from '@millrace/log';
import { CallerTurns } from '../http/replies/caller-turns.ts';
import { CallerQueues } from '../http/replies/reply-turns.ts';
import type { FrameChunk } from './frames/frame-chunk.ts';

/**
 * The time for which a chunk is cached, in milliseconds. This covers many clients that reconnect at the same
 * time.
 */
const cacheMs = 2_000;

/** Creates a chunk. It waits for its turns. */
type CreateChunk = (turns: CallerTurns) => Promise<FrameChunk | undefined>;

/** A chunk that several callers can wait for. It is created in the turns of all of them. */
class PendingChunk {
  readonly created: Promise<FrameChunk | undefined>;
  readonly #callers: Set<string>;
  readonly #turns: CallerTurns;
  readonly #queues: CallerQueues;
  readonly #started = Promise.withResolvers<void>();
  readonly #create: CreateChunk;

  constructor(caller: string, queues: CallerQueues, create: CreateChunk) {
    this.#callers = new Set([caller]);
    this.#turns = new CallerTurns(caller);
    this.#queues = queues;
    this.#create = create;
    this.created = this.#started.promise.then(() => this.#create(this.#turns));
    this.#queue(caller);
  }

  join(caller: string): void {
    if (this.#callers.has(caller)) return;
    this.#callers.add(caller);
    this.#turns.join(caller);
    this.#queue(caller);
  }

  /** Starts the creation when it is the turn of the first caller. */
  #queue(caller: string): void {
    const start = () => {
      this.#started.resolve();
      return this.created;
    };
    this.#queues.run(caller, start).catch(() => {});
  }
}

/**
 * Caches replayed chunks for a short time. If many clients reconnect at the same time, for example after a
 * restart, each chunk is read and encoded only once.
 */
export class ReplayCache {
  readonly #maxBytes: number;
  readonly #pending = new Map<string, PendingChunk>();
  /** The cached chunks. The oldest chunk is the first entry. */
  readonly #chunks = new Map<string, FrameChunk>();
  #bytes = 0;
  readonly #creations = new CallerQueues();
  readonly #clock: Clock;
  #stopClearing: (() => void) | undefined;

  constructor(maxBytes: number, clock: Clock) {
    this.#maxBytes = maxBytes;
    this.#clock = clock;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the chunk with this key. `caller` names the client that needs it. */
  get(key: string, caller: string, create: CreateChunk): Promise<FrameChunk | undefined> {
    const cached = this.#chunks.get(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const pending = this.#pending.get(key);
    if (pending !== undefined) {
      pending.join(caller);
      return pending.created;
    }
    // The chunks of one caller are created one after the other, so that its streams do not delay those of others.
    const added = new PendingChunk(caller, this.#creations, create);
    this.#pending.set(key, added);
    const isCurrent = () => this.#pending.get(key) === added;
    return added.created
      .then((chunk) => {
        if (isCurrent() && chunk !== undefined) this.#store(key, chunk);
        return chunk;
      })
      .finally(() => {
        if (isCurrent()) this.#pending.delete(key);
      });
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
