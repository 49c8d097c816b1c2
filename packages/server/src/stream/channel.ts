import type { Batch } from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { FrameView } from '../contract/stream.ts';
import type { Cursor } from './frames/cursor.ts';
import { type Step, type Told, tell } from './frames/frame-chunk.ts';
import { Ring } from './frames/frame-ring.ts';
import { encodeComment } from './frames/sse.ts';
import type { StreamLimits } from './stream-limits.ts';

const heartbeat = Buffer.from(encodeComment('ping'));

/** One connection that reads a channel. */
export interface Subscriber {
  /** Bytes that wait in the connection. */
  readonly bufferedBytes: number;
  /** Sends the next chunk. Called only while the subscriber is live. */
  give(told: Told): void;
  /** Sends bytes that are not part of the log, such as a heartbeat. */
  say(bytes: Buffer): void;
  /** Continues from the current position, if possible. */
  look(): void;
  /** Disconnects a subscriber that lags further behind than these limits. */
  checkLag(maxRecords: number, maxBytes: number): void;
  /** Closes the connection with a hint to reconnect. */
  sendAway(end: StreamEnd): void;
}

/**
 * Why a stream is over. `left`: the client disconnected. `ended`: the task is over. `cut_off`: the
 * client read too slowly. `closing`: the server closes. `failed`: the log could not be read.
 */
export type StreamEnd = 'left' | 'ended' | 'cut_off' | 'closing' | 'failed';

/** One view of a feed: its frames are made once, and written to all who watch. */
export class Channel {
  readonly view: FrameView;
  readonly #limits: StreamLimits;
  readonly #clock: Clock;
  readonly #ring: Ring;
  /** Those who have all that was told, and take more. */
  readonly #live = new Set<Subscriber>();
  /** The others: they come back by themselves. */
  readonly #behind = new Set<Subscriber>();
  /** Those who are to be looked at after each batch, because they wait for it or end with one. */
  readonly #waiting = new Set<Subscriber>();
  #toldBytes = 0;
  #toldAt: number;
  #stopHeartbeat: () => void;

  constructor(view: FrameView, through: number, limits: StreamLimits, clock: Clock) {
    this.view = view;
    this.#limits = limits;
    this.#clock = clock;
    this.#ring = new Ring(limits.ringBytes, through);
    this.#toldAt = clock.now();
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

  /** How much was told so far, to see how far somebody is behind. */
  get toldBytes(): number {
    return this.#toldBytes;
  }

  *everyone(): Iterable<Subscriber> {
    yield* this.#live;
    yield* this.#behind;
  }

  tell(batch: Batch, steps: readonly Step[]): void {
    const { pieceBytes } = this.#limits;
    for (const told of tell(this.view, batch, steps, { pieceBytes })) this.#tell(told);
    for (const viewer of this.#behind) this.#checkLag(viewer);
    for (const viewer of [...this.#waiting]) viewer.look();
  }

  #tell(told: Told): void {
    this.#ring.push(told);
    const { length } = told.bytes;
    if (length === 0) return;
    this.#toldBytes += length;
    this.#toldAt = this.#clock.now();
    for (const viewer of this.#live) viewer.give(told);
  }

  /** What is kept for those who come back is not what the log has any more. */
  forget(): void {
    this.#ring.clear();
  }

  find(cursor: Cursor): Told | undefined {
    return this.#ring.find(cursor);
  }

  nextEntry(cursor: Cursor): number {
    return this.#ring.nextEntry(cursor);
  }

  goLive(viewer: Subscriber): void {
    this.#behind.delete(viewer);
    this.#live.add(viewer);
  }

  fallBehind(viewer: Subscriber): void {
    this.#live.delete(viewer);
    this.#behind.add(viewer);
  }

  /** Has it looked at after each batch. */
  watch(viewer: Subscriber): void {
    this.#waiting.add(viewer);
  }

  unwatch(viewer: Subscriber): void {
    this.#waiting.delete(viewer);
  }

  leave(viewer: Subscriber): void {
    this.#live.delete(viewer);
    this.#behind.delete(viewer);
    this.#waiting.delete(viewer);
  }

  close(): void {
    this.#stopHeartbeat();
    this.#ring.clear();
  }

  #checkLag(viewer: Subscriber): void {
    const { maxLagRecords, maxLagBytes } = this.#limits;
    viewer.checkLag(maxLagRecords, maxLagBytes);
  }

  /** Looks again when it would be due, so that what is told in between costs nothing. */
  #nextHeartbeat(ms: number): () => void {
    return this.#clock.after(ms, () => this.#beat(), { isIdle: true });
  }

  #beat(): void {
    const { heartbeatMs } = this.#limits;
    const now = this.#clock.now();
    const idleMs = now - this.#toldAt;
    if (idleMs < heartbeatMs) {
      // A clock that was set back does not delay it for more than one turn.
      this.#stopHeartbeat = this.#nextHeartbeat(Math.min(heartbeatMs, heartbeatMs - idleMs));
      return;
    }
    this.#toldAt = now;
    for (const viewer of this.#live) viewer.say(heartbeat);
    this.#stopHeartbeat = this.#nextHeartbeat(heartbeatMs);
  }
}
