import type { ServerResponse } from 'node:http';
import type { Clock } from '@millrace/log';
import type { Channel, StreamEnd, Subscriber } from './channel.ts';
import type { Cursor } from './frames/cursor.ts';
import type { FrameChunk } from './frames/frame-chunk.ts';
import { encodeRetry } from './frames/sse.ts';
import type { StreamLimits } from './stream-limits.ts';

/** Where a viewer writes. */
type Connection = Pick<
  ServerResponse,
  'write' | 'end' | 'destroy' | 'on' | 'off' | 'writableLength' | 'destroyed'
>;

/** Where it gets what is not at hand. */
interface ViewerSource {
  readonly channel: Channel;
  /** What comes after a place, from the log; undefined where it has to wait for the next batch. */
  readonly replay: (cursor: Cursor, isSettled: boolean) => Promise<FrameChunk | undefined>;
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

/** Where it begins. */
interface StartPosition {
  readonly cursor: Cursor | undefined;
  /** With finished turns settled, or what the view says instead of all that was before. */
  readonly isSettled: boolean;
}

interface EndHandlers {
  /** What to say at the end, where it is due for one who was told all. */
  readonly endFrame: () => Buffer | undefined;
  readonly onEnd: (end: StreamEnd) => void;
}

/** How long somebody who was sent away may take to read what is under way. */
const closeGraceMs = 5_000;

/**
 * One connection: a cursor. What it has not read is in the ring, for all, or in the log; it keeps
 * nothing itself but the rest of the piece that it is writing.
 */
export class Viewer implements Subscriber {
  readonly #source: ViewerSource;
  readonly #connection: Connection;
  readonly #endHandlers: EndHandlers;
  #cursor: Cursor;
  /** Came without a cursor, and was not told all yet. */
  #isSettled: boolean;
  #isLive = false;
  #isBusy = false;
  #isBlocked = false;
  #isFinished = false;
  #hadCaughtUp = false;
  /** What is left of a piece that is larger than what a connection is given at once. */
  #unsent: Buffer | undefined;
  /** Said as soon as it takes more: the latest of what is said beside the log. */
  #pendingControl: Buffer | undefined;
  #stopStallTimer: (() => void) | undefined;
  #publishedBytes = 0;
  #watchesForEnd = false;

  constructor(
    source: ViewerSource,
    connection: Connection,
    start: StartPosition,
    endHandlers: EndHandlers,
  ) {
    const { cursor = { offset: 0 }, isSettled } = start;
    this.#source = source;
    this.#connection = connection;
    this.#cursor = cursor;
    this.#isSettled = isSettled;
    this.#endHandlers = endHandlers;
    connection.on('drain', this.#onDrain);
    connection.on('close', this.#onClose);
    connection.on('error', this.#onClose);
    source.channel.fallBehind(this);
  }

  get #channel(): Channel {
    return this.#source.channel;
  }

  /** What waits in its connection. */
  get bufferedBytes(): number {
    return this.#connection.writableLength;
  }

  /** Goes on from where it is, if it can. */
  resume(): void {
    if (this.#isLive) this.#endIfDue();
    else void this.#catchUp();
  }

  /** The next piece, for one who is live. Called once a piece for everybody: it makes nothing. */
  send({ bytes, through }: FrameChunk): void {
    const { pieceBytes } = this.#source.limits;
    if (bytes.length <= pieceBytes) {
      if (!this.#connection.write(bytes)) this.#fallBehind(through);
      return;
    }
    this.#unsent = bytes;
    while (this.#unsent !== undefined) {
      if (!this.#writeUnsent()) return this.#fallBehind(through);
    }
  }

  /** Something beside the log, without an id: now or as soon as it is taken. */
  sendControl(bytes: Buffer): void {
    if (this.#isFinished || bytes.length === 0) return;
    if (this.#isBlocked || this.#unsent !== undefined) {
      this.#pendingControl = bytes;
      return;
    }
    if (this.#connection.write(bytes)) return;
    if (this.#isLive) this.#fallBehind(this.#channel.through);
    else this.#block();
  }

  /** Looks after each batch whether it is to end with it. */
  watchForEnd(isEnding: boolean): void {
    if (this.#isFinished) return;
    this.#watchesForEnd = isEnding;
    if (isEnding) this.#channel.addWaiting(this);
    else this.#channel.removeWaiting(this);
  }

  /** One that is further behind than it may be is sent away, to resume. */
  checkLag(maxRecords: number, maxBytes: number): void {
    if (!this.#hadCaughtUp || !this.#isBlocked) return;
    const { through, publishedBytes } = this.#channel;
    const isTooFar = through - this.#cursor.offset > maxRecords;
    if (isTooFar || publishedBytes - this.#publishedBytes > maxBytes) this.disconnect('cut_off');
  }

  /** Closes the connection with a hint to come back; what was told is resumed by its id. */
  disconnect(end: StreamEnd): void {
    if (this.#isFinished) return;
    // In the middle of a frame nothing else can be said.
    const isAtFrameEnd = this.#unsent === undefined;
    this.#closeWith(end, isAtFrameEnd ? encodeRetry(this.#source.limits.retryMs) : '');
  }

  async #catchUp(): Promise<void> {
    if (this.#isBusy || this.#isLive) return;
    this.#isBusy = true;
    try {
      while (!this.#isFinished && !this.#isBlocked) {
        if (this.#unsent !== undefined) {
          if (!this.#writeUnsent()) this.#block();
        } else if (this.#isUpToDate()) return this.#goLive();
        else if (!(await this.#advance())) return;
      }
    } catch {
      this.disconnect('failed');
    } finally {
      this.#isBusy = false;
    }
  }

  /** False where it has to wait for the next batch. */
  async #advance(): Promise<boolean> {
    const channel = this.#channel;
    const ready = this.#isSettled ? undefined : channel.find(this.#cursor);
    const chunk = ready ?? (await this.#source.replay(this.#cursor, this.#isSettled));
    if (chunk === undefined) {
      channel.addWaiting(this);
      return false;
    }
    if (this.#isFinished) return false;
    if (!this.#watchesForEnd) channel.removeWaiting(this);
    this.#cursor = { offset: chunk.through };
    // It has all that was settled when it began; what came since is told as it was said.
    if (chunk.through >= channel.through) this.#isSettled = false;
    if (chunk.bytes.length > 0) this.#unsent = chunk.bytes;
    return true;
  }

  #isUpToDate(): boolean {
    const { offset, k } = this.#cursor;
    return k === undefined && !this.#isSettled && offset === this.#channel.through;
  }

  #goLive(): void {
    this.#isLive = true;
    this.#hadCaughtUp = true;
    this.#channel.goLive(this);
    this.#endIfDue();
  }

  /** As much of it as is given at once; false where that is enough for now. */
  #writeUnsent(): boolean {
    const unsent = this.#unsent;
    if (unsent === undefined) return true;
    const { pieceBytes } = this.#source.limits;
    this.#unsent = unsent.length > pieceBytes ? unsent.subarray(pieceBytes) : undefined;
    return this.#connection.write(
      unsent.length > pieceBytes ? unsent.subarray(0, pieceBytes) : unsent,
    );
  }

  #fallBehind(offset: number): void {
    this.#isLive = false;
    this.#cursor = { offset };
    this.#channel.fallBehind(this);
    this.#block();
  }

  #block(): void {
    const { clock, limits } = this.#source;
    this.#isBlocked = true;
    this.#publishedBytes = this.#channel.publishedBytes;
    this.#stopStallTimer?.();
    const cutOff = () => this.#finish('cut_off', true);
    this.#stopStallTimer = clock.after(limits.stallTimeoutMs, cutOff, { isIdle: true });
  }

  readonly #onDrain = (): void => {
    if (!this.#isBlocked || this.#isFinished) return;
    this.#isBlocked = false;
    this.#stopStallTimer?.();
    const pendingControl = this.#pendingControl;
    if (pendingControl !== undefined && this.#unsent === undefined) {
      this.#pendingControl = undefined;
      if (!this.#connection.write(pendingControl)) return this.#block();
    }
    void this.#catchUp();
  };

  readonly #onClose = (): void => this.#finish('left', true);

  #endIfDue(): void {
    if (!this.#isLive || this.#isFinished) return;
    const endFrame = this.#endHandlers.endFrame();
    if (endFrame !== undefined) this.#closeWith('ended', endFrame);
  }

  #closeWith(end: StreamEnd, endFrame: string | Buffer): void {
    const connection = this.#connection;
    this.#finish(end, false);
    const { clock } = this.#source;
    const stop = clock.after(closeGraceMs, () => connection.destroy(), { isIdle: true });
    connection.on('close', stop);
    // Whatever goes wrong with a connection that is given up is nobody's matter any more.
    connection.on('error', () => {});
    if (endFrame.length > 0) connection.write(endFrame);
    connection.end();
  }

  #finish(end: StreamEnd, isAbrupt: boolean): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#isLive = false;
    this.#unsent = undefined;
    this.#pendingControl = undefined;
    this.#stopStallTimer?.();
    this.#channel.leave(this);
    this.#connection.off('drain', this.#onDrain);
    this.#connection.off('close', this.#onClose);
    this.#connection.off('error', this.#onClose);
    if (isAbrupt && !this.#connection.destroyed) {
      this.#connection.on('error', () => {});
      this.#connection.destroy();
    }
    this.#endHandlers.onEnd(end);
  }
}
