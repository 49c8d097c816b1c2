import type { ServerResponse } from 'node:http';
import type { Clock } from '@millrace/log';
import type { Channel, StreamEnd, Subscriber } from './channel.ts';
import type { Cursor } from './frames/cursor.ts';
import type { Told } from './frames/frame-chunk.ts';
import { encodeRetry } from './frames/sse.ts';
import type { StreamLimits } from './stream-limits.ts';

/** Where a viewer writes. */
type Sink = Pick<
  ServerResponse,
  'write' | 'end' | 'destroy' | 'on' | 'off' | 'writableLength' | 'destroyed'
>;

/** Where it gets what is not at hand. */
interface Source {
  readonly channel: Channel;
  /** What comes after a place, from the log; undefined where it has to wait for the next batch. */
  readonly replay: (cursor: Cursor, isSettled: boolean) => Promise<Told | undefined>;
  readonly limits: StreamLimits;
  readonly clock: Clock;
}

/** Where it begins. */
interface Start {
  readonly cursor: Cursor | undefined;
  /** With finished turns settled, or what the view says instead of all that was before. */
  readonly isSettled: boolean;
}

interface Ends {
  /** What to say at the end, where it is due for one who was told all. */
  readonly words: () => Buffer | undefined;
  readonly onOver: (end: StreamEnd) => void;
}

/** How long somebody who was sent away may take to read what is under way. */
const farewellMs = 5_000;

/**
 * One connection: a cursor. What it has not read is in the ring, for all, or in the log; it keeps
 * nothing itself but the rest of the piece that it is writing.
 */
export class Viewer implements Subscriber {
  readonly #source: Source;
  readonly #sink: Sink;
  readonly #ends: Ends;
  #cursor: Cursor;
  /** Came without a cursor, and was not told all yet. */
  #isSettled: boolean;
  #isLive = false;
  #isBusy = false;
  #isBlocked = false;
  #isOver = false;
  #hadCaughtUp = false;
  /** What is left of a piece that is larger than what a connection is given at once. */
  #rest: Buffer | undefined;
  /** Said as soon as it takes more: the latest of what is said beside the log. */
  #owed: Buffer | undefined;
  #stopStallTimer: (() => void) | undefined;
  #toldBytes = 0;
  #isEnding = false;

  constructor(source: Source, sink: Sink, start: Start, ends: Ends) {
    const { cursor = { offset: 0 }, isSettled } = start;
    this.#source = source;
    this.#sink = sink;
    this.#cursor = cursor;
    this.#isSettled = isSettled;
    this.#ends = ends;
    sink.on('drain', this.#onDrain);
    sink.on('close', this.#onClose);
    sink.on('error', this.#onClose);
    source.channel.fallBehind(this);
  }

  get #channel(): Channel {
    return this.#source.channel;
  }

  /** What waits in its connection. */
  get bufferedBytes(): number {
    return this.#sink.writableLength;
  }

  /** Goes on from where it is, if it can. */
  look(): void {
    if (this.#isLive) this.#endIfDue();
    else void this.#catchUp();
  }

  /** The next piece, for one who is live. Called once a piece for everybody: it makes nothing. */
  give({ bytes, through }: Told): void {
    const { pieceBytes } = this.#source.limits;
    if (bytes.length <= pieceBytes) {
      if (!this.#sink.write(bytes)) this.#stopBeingLive(through);
      return;
    }
    this.#rest = bytes;
    while (this.#rest !== undefined) {
      if (!this.#writeRest()) return this.#stopBeingLive(through);
    }
  }

  /** Something beside the log, without an id: now or as soon as it is taken. */
  say(bytes: Buffer): void {
    if (this.#isOver || bytes.length === 0) return;
    if (this.#isBlocked || this.#rest !== undefined) {
      this.#owed = bytes;
      return;
    }
    if (this.#sink.write(bytes)) return;
    if (this.#isLive) this.#stopBeingLive(this.#channel.through);
    else this.#block();
  }

  /** Looks after each batch whether it is to end with it. */
  watchForEnd(isEnding: boolean): void {
    if (this.#isOver) return;
    this.#isEnding = isEnding;
    if (isEnding) this.#channel.watch(this);
    else this.#channel.unwatch(this);
  }

  /** One that is further behind than it may be is sent away, to resume. */
  checkLag(maxRecords: number, maxBytes: number): void {
    if (!this.#hadCaughtUp || !this.#isBlocked) return;
    const { through, toldBytes } = this.#channel;
    const isFar = through - this.#cursor.offset > maxRecords;
    if (isFar || toldBytes - this.#toldBytes > maxBytes) this.sendAway('cut_off');
  }

  /** Closes the connection with a hint to come back; what was told is resumed by its id. */
  sendAway(end: StreamEnd): void {
    if (this.#isOver) return;
    // In the middle of a frame nothing else can be said.
    const isWhole = this.#rest === undefined;
    this.#goodbye(end, isWhole ? encodeRetry(this.#source.limits.retryMs) : '');
  }

  async #catchUp(): Promise<void> {
    if (this.#isBusy || this.#isLive) return;
    this.#isBusy = true;
    try {
      while (!this.#isOver && !this.#isBlocked) {
        if (this.#rest !== undefined) {
          if (!this.#writeRest()) this.#block();
        } else if (this.#isUpToDate()) return this.#goLive();
        else if (!(await this.#advance())) return;
      }
    } catch {
      this.sendAway('failed');
    } finally {
      this.#isBusy = false;
    }
  }

  /** False where it has to wait for the next batch. */
  async #advance(): Promise<boolean> {
    const channel = this.#channel;
    const ready = this.#isSettled ? undefined : channel.find(this.#cursor);
    const told = ready ?? (await this.#source.replay(this.#cursor, this.#isSettled));
    if (told === undefined) {
      channel.watch(this);
      return false;
    }
    if (this.#isOver) return false;
    if (!this.#isEnding) channel.unwatch(this);
    this.#cursor = { offset: told.through };
    // It has all that was settled when it began; what came since is told as it was said.
    if (told.through >= channel.through) this.#isSettled = false;
    if (told.bytes.length > 0) this.#rest = told.bytes;
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
  #writeRest(): boolean {
    const rest = this.#rest;
    if (rest === undefined) return true;
    const { pieceBytes } = this.#source.limits;
    this.#rest = rest.length > pieceBytes ? rest.subarray(pieceBytes) : undefined;
    return this.#sink.write(rest.length > pieceBytes ? rest.subarray(0, pieceBytes) : rest);
  }

  #stopBeingLive(offset: number): void {
    this.#isLive = false;
    this.#cursor = { offset };
    this.#channel.fallBehind(this);
    this.#block();
  }

  #block(): void {
    const { clock, limits } = this.#source;
    this.#isBlocked = true;
    this.#toldBytes = this.#channel.toldBytes;
    this.#stopStallTimer?.();
    const cut = () => this.#over('cut_off', true);
    this.#stopStallTimer = clock.after(limits.stallTimeoutMs, cut, { isIdle: true });
  }

  readonly #onDrain = (): void => {
    if (!this.#isBlocked || this.#isOver) return;
    this.#isBlocked = false;
    this.#stopStallTimer?.();
    const owed = this.#owed;
    if (owed !== undefined && this.#rest === undefined) {
      this.#owed = undefined;
      if (!this.#sink.write(owed)) return this.#block();
    }
    void this.#catchUp();
  };

  readonly #onClose = (): void => this.#over('left', true);

  #endIfDue(): void {
    if (!this.#isLive || this.#isOver) return;
    const words = this.#ends.words();
    if (words !== undefined) this.#goodbye('ended', words);
  }

  #goodbye(end: StreamEnd, words: string | Buffer): void {
    const sink = this.#sink;
    this.#over(end, false);
    const { clock } = this.#source;
    const stop = clock.after(farewellMs, () => sink.destroy(), { isIdle: true });
    sink.on('close', stop);
    // Whatever goes wrong with a connection that is given up is nobody's matter any more.
    sink.on('error', () => {});
    if (words.length > 0) sink.write(words);
    sink.end();
  }

  #over(end: StreamEnd, isAbrupt: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isLive = false;
    this.#rest = undefined;
    this.#owed = undefined;
    this.#stopStallTimer?.();
    this.#channel.leave(this);
    this.#sink.off('drain', this.#onDrain);
    this.#sink.off('close', this.#onClose);
    this.#sink.off('error', this.#onClose);
    if (isAbrupt && !this.#sink.destroyed) {
      this.#sink.on('error', () => {});
      this.#sink.destroy();
    }
    this.#ends.onOver(end);
  }
}
