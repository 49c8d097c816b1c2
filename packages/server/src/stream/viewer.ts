import { encodeRetry } from '@millrace/core/streams';
import type { Clock } from '@millrace/log';
import type { HttpResponse } from '../contract/http.ts';
import type { Channel, StreamEnd, Subscriber } from './channel.ts';
import type { Cursor } from './frames/cursor.ts';
import type { FrameChunk } from './frames/frame-chunk.ts';
import type { StreamLimits } from './stream-limits.ts';

/** The response to which a viewer writes. */
type Connection = Pick<
  HttpResponse,
  'write' | 'end' | 'destroy' | 'on' | 'off' | 'writableLength' | 'destroyed'
>;

/** The channel of the viewer, and a source of frames that are no longer in memory. */
interface ViewerSource {
  readonly channel: Channel;
  /**
   * Returns the frames after a cursor, read from the log. Returns undefined if the viewer must wait for the
   * next batch.
   */
  readonly replay: (cursor: Cursor, isSettled: boolean) => Promise<FrameChunk | undefined>;
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

/** The position at which a viewer starts. */
export interface StartPosition {
  readonly cursor: Cursor | undefined;
  /**
   * True if the viewer starts with snapshots of finished turns, or with the frames of the view's `restate`.
   */
  readonly isSettled: boolean;
}

interface EndHandlers {
  /** Returns the last frame if the stream must end now. The viewer must have caught up. */
  readonly endFrame: () => Buffer | undefined;
  readonly onEnd: (end: StreamEnd) => void;
}

/** Maximum time for a client to read the remaining bytes after the end of the stream, in milliseconds. */
const closeGraceMs = 5_000;

/**
 * One connection. It stores mainly a cursor, because the unsent frames are in the shared ring or on the log.
 * It keeps only the rest of the chunk that it is writing.
 */
export class Viewer implements Subscriber {
  readonly #source: ViewerSource;
  readonly #connection: Connection;
  readonly #endHandlers: EndHandlers;
  #cursor: Cursor;
  /** True if the viewer started without a cursor and is still reading snapshots of finished turns. */
  #isSettled: boolean;
  #isLive = false;
  #isBusy = false;
  #isBlocked = false;
  #isFinished = false;
  #hadCaughtUp = false;
  /** The rest of a chunk that is larger than one write. */
  #unsent: Buffer | undefined;
  /** The latest control frame that waits until the connection accepts more data. */
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

  /** The number of bytes that wait in the connection to be sent. */
  get bufferedBytes(): number {
    return this.#connection.writableLength;
  }

  /** Continues from the current position if possible. */
  resume(): void {
    if (this.#isLive) this.#endIfDue();
    else void this.#catchUp();
  }

  /**
   * Sends the next chunk to a live viewer. It must not allocate memory, because it runs for each chunk and
   * each viewer.
   */
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

  /**
   * Sends a frame that does not come from the log and has no id. If the connection is blocked, the frame is
   * sent later.
   */
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

  /** Sets whether the viewer checks after each batch if its stream must end. */
  watchForEnd(isEnding: boolean): void {
    if (this.#isFinished) return;
    this.#watchesForEnd = isEnding;
    if (isEnding) this.#channel.addWaiting(this);
    else this.#channel.removeWaiting(this);
  }

  /** Disconnects the viewer if it is too far behind. The client can resume. */
  checkLag(maxRecords: number, maxBytes: number): void {
    if (!this.#hadCaughtUp || !this.#isBlocked) return;
    const { through, publishedBytes } = this.#channel;
    const isTooFar = through - this.#cursor.offset > maxRecords;
    if (isTooFar || publishedBytes - this.#publishedBytes > maxBytes) this.disconnect('cut_off');
  }

  /** Closes the connection with a hint to reconnect. The client resumes with the id of its last frame. */
  disconnect(end: StreamEnd): void {
    if (this.#isFinished) return;
    // A hint can be written only between two frames.
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

  /** Gets the next chunk. Returns false if the viewer must wait for the next batch. */
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
    // The viewer has received the snapshots of all turns that had finished when it started. It now receives
    // each record.
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

  /** Writes the next part of a chunk. Returns false if the connection currently accepts no more data. */
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
    // Errors of a closed connection are ignored.
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
