import type { Batch, LogRecord } from '@millrace/core';
import { encodeComment } from '@millrace/core/streams';
import type { Clock } from '@millrace/log';
import type { FrameView } from '../contract/stream.ts';
import { type Cursor, idEndOf } from './frames/cursor.ts';
import { encodeChunks, type FrameChunk, type Step } from './frames/frame-chunk.ts';
import { FrameRing } from './frames/frame-ring.ts';
import type { StreamLimits } from './stream-limits.ts';

const heartbeat = Buffer.from(encodeComment('ping'));

/** One connection that receives the frames of a channel. */
export interface Subscriber {
  /** The number of bytes that wait in the connection to be sent. */
  readonly bufferedBytes: number;
  /** Sends the next chunk. The channel calls it only while the subscriber is live. */
  send(chunk: FrameChunk): void;
  /** Sends bytes that are not part of the log, such as a heartbeat. */
  sendControl(bytes: Buffer): void;
  /** Continues from the current position if possible. */
  resume(): void;
  /** Disconnects the subscriber if its lag is more than `maxRecords` or more than `maxBytes`. */
  checkLag(maxRecords: number, maxBytes: number): void;
  /** Closes the connection with a hint to reconnect. */
  disconnect(end: StreamEnd): void;
}

/**
 * The reason why a stream ended. `left`: the client disconnected. `ended`: the task is finished. `cut_off`:
 * the client read too slowly. `closing`: the server is closing. `failed`: the log could not be read.
 */
export type StreamEnd = 'left' | 'ended' | 'cut_off' | 'closing' | 'failed';

/** Publishes one view of a feed. It encodes each frame once and writes it to all subscribers. */
export class Channel {
  readonly view: FrameView;
  readonly #idEnd: string;
  readonly #limits: StreamLimits;
  readonly #clock: Clock;
  readonly #ring: FrameRing;
  /** The subscribers that have received all frames and can receive more. */
  readonly #live = new Set<Subscriber>();
  /** The subscribers that are not live. They read older frames until they have caught up. */
  readonly #behind = new Set<Subscriber>();
  /**
   * The subscribers to resume after each batch. Such a subscriber waits for a batch, or a batch may end its
   * stream.
   */
  readonly #waiting = new Set<Subscriber>();
  #publishedBytes = 0;
  #lastPublishedAt: number;
  #stopHeartbeat: () => void;

  constructor(
    view: FrameView,
    { through, incarnation }: { readonly through: number; readonly incarnation: string },
    limits: StreamLimits,
    clock: Clock,
  ) {
    this.view = view;
    this.#limits = limits;
    this.#clock = clock;
    this.#idEnd = idEndOf(incarnation);
    this.#ring = new FrameRing(limits.ringBytes, through, this.#idEnd);
    this.#lastPublishedAt = clock.now();
    this.#stopHeartbeat = this.#nextHeartbeat(limits.heartbeatMs);
  }

  get through(): number {
    return this.#ring.through;
  }

  get viewers(): number {
    return this.#live.size + this.#behind.size;
  }

  get ringBytes(): number {
    return this.#ring.bytes;
  }

  /** The total number of published bytes. A subscriber computes its lag from it. */
  get publishedBytes(): number {
    return this.#publishedBytes;
  }

  *subscribers(): Iterable<Subscriber> {
    yield* this.#live;
    yield* this.#behind;
  }

  /** Publishes a batch. `next` is the first record of the next batch, if it is known. */
  publish(batch: Batch, steps: readonly Step[], next: LogRecord | undefined): void {
    const { pieceBytes } = this.#limits;
    const options = { pieceBytes, idEnd: this.#idEnd, next };
    for (const chunk of encodeChunks(this.view, batch, steps, options)) this.#publishChunk(chunk);
    for (const subscriber of this.#behind) this.#checkLag(subscriber);
    for (const subscriber of [...this.#waiting]) subscriber.resume();
  }

  #publishChunk(chunk: FrameChunk): void {
    this.#ring.push(chunk);
    const { length } = chunk.bytes;
    if (length === 0) return;
    this.#publishedBytes += length;
    this.#lastPublishedAt = this.#clock.now();
    for (const subscriber of this.#live) subscriber.send(chunk);
  }

  /** Removes the recent frames from memory, because they no longer match the log. */
  clearRing(): void {
    this.#ring.clear();
  }

  find(cursor: Cursor): FrameChunk | undefined {
    return this.#ring.find(cursor);
  }

  nextEntryOffset(cursor: Cursor): number {
    return this.#ring.nextEntryOffset(cursor);
  }

  goLive(subscriber: Subscriber): void {
    this.#behind.delete(subscriber);
    this.#live.add(subscriber);
  }

  fallBehind(subscriber: Subscriber): void {
    this.#live.delete(subscriber);
    this.#behind.add(subscriber);
  }

  /** Adds a subscriber that is resumed after each batch. */
  addWaiting(subscriber: Subscriber): void {
    this.#waiting.add(subscriber);
  }

  removeWaiting(subscriber: Subscriber): void {
    this.#waiting.delete(subscriber);
  }

  leave(subscriber: Subscriber): void {
    this.#live.delete(subscriber);
    this.#behind.delete(subscriber);
    this.#waiting.delete(subscriber);
  }

  close(): void {
    this.#stopHeartbeat();
    this.#ring.clear();
  }

  #checkLag(subscriber: Subscriber): void {
    const { maxLagRecords, maxLagBytes } = this.#limits;
    subscriber.checkLag(maxLagRecords, maxLagBytes);
  }

  /**
   * Starts the heartbeat timer. A publication does not reset the timer. Instead, `#beat` checks the time of
   * the last publication.
   */
  #nextHeartbeat(ms: number): () => void {
    return this.#clock.after(ms, () => this.#beat(), { isIdle: true });
  }

  #beat(): void {
    const { heartbeatMs } = this.#limits;
    const now = this.#clock.now();
    const idleMs = now - this.#lastPublishedAt;
    if (idleMs < heartbeatMs) {
      // If the system clock was set back, `Math.min` limits the delay of the heartbeat to one interval.
      this.#stopHeartbeat = this.#nextHeartbeat(Math.min(heartbeatMs, heartbeatMs - idleMs));
      return;
    }
    this.#lastPublishedAt = now;
    for (const subscriber of this.#live) subscriber.sendControl(heartbeat);
    this.#stopHeartbeat = this.#nextHeartbeat(heartbeatMs);
  }
}
