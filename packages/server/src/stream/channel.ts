import type { Batch } from '@millrace/core';
import { encodeComment } from '@millrace/core/streams';
import type { Clock } from '@millrace/log';
import type { FrameView } from '../contract/stream.ts';
import { type Cursor, idEndOf } from './frames/cursor.ts';
import { encodeChunks, type FrameChunk, type Step } from './frames/frame-chunk.ts';
import { FrameRing } from './frames/frame-ring.ts';
import type { StreamLimits } from './stream-limits.ts';

const heartbeat = Buffer.from(encodeComment('ping'));

/** One connection that reads a channel. */
export interface Subscriber {
  /** Bytes that wait in the connection. */
  readonly bufferedBytes: number;
  /** Sends the next chunk. Called only while the subscriber is live. */
  send(chunk: FrameChunk): void;
  /** Sends bytes that are not part of the log, such as a heartbeat. */
  sendControl(bytes: Buffer): void;
  /** Continues from the current position, if possible. */
  resume(): void;
  /** Disconnects a subscriber that lags further behind than these limits. */
  checkLag(maxRecords: number, maxBytes: number): void;
  /** Closes the connection with a hint to reconnect. */
  disconnect(end: StreamEnd): void;
}

/**
 * Why a stream is over. `left`: the client disconnected. `ended`: the task is over. `cut_off`: the
 * client read too slowly. `closing`: the server closes. `failed`: the log could not be read.
 */
export type StreamEnd = 'left' | 'ended' | 'cut_off' | 'closing' | 'failed';

/** One view of a feed. Frames are encoded once and written to all subscribers. */
export class Channel {
  readonly view: FrameView;
  readonly #idEnd: string;
  readonly #limits: StreamLimits;
  readonly #clock: Clock;
  readonly #ring: FrameRing;
  /** Subscribers that have everything and accept more. */
  readonly #live = new Set<Subscriber>();
  /** The other subscribers. They catch up by themselves. */
  readonly #behind = new Set<Subscriber>();
  /** Subscribers to resume after each batch, because they wait for it or may end with it. */
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

  /** Total bytes published so far. It measures how far a subscriber lags. */
  get publishedBytes(): number {
    return this.#publishedBytes;
  }

  *subscribers(): Iterable<Subscriber> {
    yield* this.#live;
    yield* this.#behind;
  }

  publish(batch: Batch, steps: readonly Step[]): void {
    const { pieceBytes } = this.#limits;
    const options = { pieceBytes, idEnd: this.#idEnd };
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

  /** Drops the recent frames, which no longer match the log. */
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

  /** Resumes the subscriber after each batch. */
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
   * The timer is not reset by each publication. When it fires, `#beat` checks the time of the last
   * one.
   */
  #nextHeartbeat(ms: number): () => void {
    return this.#clock.after(ms, () => this.#beat(), { isIdle: true });
  }

  #beat(): void {
    const { heartbeatMs } = this.#limits;
    const now = this.#clock.now();
    const idleMs = now - this.#lastPublishedAt;
    if (idleMs < heartbeatMs) {
      // If the clock was set back, the heartbeat is late by at most one interval.
      this.#stopHeartbeat = this.#nextHeartbeat(Math.min(heartbeatMs, heartbeatMs - idleMs));
      return;
    }
    this.#lastPublishedAt = now;
    for (const subscriber of this.#live) subscriber.sendControl(heartbeat);
    this.#stopHeartbeat = this.#nextHeartbeat(heartbeatMs);
  }
}
