import type { Batch } from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { FrameView } from '../contract/stream.ts';
import type { Cursor } from './cursor.ts';
import { Ring } from './ring.ts';
import { encodeComment } from './sse.ts';
import type { StreamLimits } from './stream-limits.ts';
import { type Step, type Told, tell } from './told.ts';
import type { Viewer } from './viewer.ts';

const heartbeat = Buffer.from(encodeComment('ping'));

/** One view of a feed: its frames are made once, and written to all who watch. */
export class Channel {
  readonly view: FrameView;
  readonly #limits: StreamLimits;
  readonly #clock: Clock;
  readonly #ring: Ring;
  /** Those who have all that was told, and take more. */
  readonly #live = new Set<Viewer>();
  /** The others: they come back by themselves. */
  readonly #behind = new Set<Viewer>();
  /** Those who are to be looked at after each batch, because they wait for it or end with one. */
  readonly #waiting = new Set<Viewer>();
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

  *everyone(): Iterable<Viewer> {
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

  goLive(viewer: Viewer): void {
    this.#behind.delete(viewer);
    this.#live.add(viewer);
  }

  fallBehind(viewer: Viewer): void {
    this.#live.delete(viewer);
    this.#behind.add(viewer);
  }

  /** Has it looked at after each batch. */
  watch(viewer: Viewer): void {
    this.#waiting.add(viewer);
  }

  unwatch(viewer: Viewer): void {
    this.#waiting.delete(viewer);
  }

  leave(viewer: Viewer): void {
    this.#live.delete(viewer);
    this.#behind.delete(viewer);
    this.#waiting.delete(viewer);
  }

  close(): void {
    this.#stopHeartbeat();
    this.#ring.clear();
  }

  #checkLag(viewer: Viewer): void {
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
