import type { Clock } from '@millrace/agent';
import type { Theme } from '../../text/theme/theme.ts';
import type { Block } from '../contract/block.ts';
import type { Moment } from '../render/call-lines.ts';
import type { Look } from '../render/look.ts';
import { Printer } from '../render/printer.ts';
import { type DrawnFrame, emptyFrame } from './reflow.ts';

interface Size {
  readonly columns: number;
  readonly rows: number;
}

interface DisplayOptions {
  readonly clock: Clock;
  readonly theme: Theme;
  readonly size: () => Size;
  /** Returns true during a run or a replay. The screen then changes without input. */
  readonly isBusy: () => boolean;
}

/**
 * The content to draw: the last printed lines and the current moment. Printed lines are written
 * only once.
 */
interface DisplaySnapshot {
  readonly printed: { readonly number: number; readonly lines: readonly string[] };
  readonly moment: Moment;
  /** The size of the terminal that the content is laid out for. */
  readonly size: Size;
  /** True after the user has left the chat. */
  readonly isOver: boolean;
}

/** The number of printed lines that are kept. No screen shows more. */
const maxKeptLines = 400;

/** Decides when to draw. It draws at once, but limits the frame rate while content streams. */
export class Display {
  readonly printer: Printer = new Printer();
  /**
   * The last rendered frame. It may not be on the terminal yet; `writtenFrame` is the last frame
   * that was written there.
   */
  renderedFrame: DrawnFrame = emptyFrame;
  writtenFrame: DrawnFrame = emptyFrame;
  showsReasoning = false;
  readonly #options: DisplayOptions;
  readonly #frames: FrameLimiter;
  readonly #spinner: Spinner;
  readonly #listeners = new Set<() => void>();
  #pendingBlocks: readonly Block[] = [];
  #lastPrinted: readonly string[] = [];
  #isHeld = false;
  #onLaidOut: (() => void) | undefined;
  #snapshot: DisplaySnapshot;

  constructor(options: DisplayOptions) {
    const { clock } = options;
    this.#options = options;
    this.#frames = new FrameLimiter(clock, () => this.#draw(false));
    this.#spinner = new Spinner(clock, () => this.#frames.request());
    const printed = { number: 0, lines: [] };
    this.#snapshot = { printed, moment: this.#moment(), size: this.#size(), isOver: false };
  }

  get look(): Look {
    const { size, theme } = this.#options;
    return { width: size().columns, theme, showsReasoning: this.showsReasoning };
  }

  get rows(): number {
    return this.#options.size().rows;
  }

  readonly snapshot = (): DisplaySnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Requests a frame, because something may have changed. The frame rate is limited. */
  requestDraw(): void {
    this.#frames.request();
  }

  /** Draws now, because a key was pressed. */
  drawNow(): void {
    this.#frames.drawNow();
  }

  print(blocks: readonly Block[]): void {
    this.#pendingBlocks = [...this.#pendingBlocks, ...blocks];
    this.#frames.request();
  }

  /** Stops drawing until `release` is called. Blocks to print are buffered. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#frames.request();
  }

  /** Lays out the live region for a new size and prints nothing. Calls `done` afterwards. */
  layOut(done: () => void): void {
    if (this.#listeners.size === 0 || this.#snapshot.isOver) return done();
    this.#onLaidOut = done;
    this.#snapshot = { ...this.#snapshot, moment: this.#moment(), size: this.#size() };
    for (const listener of this.#listeners) listener();
  }

  /** The renderer calls this method after it has laid out the last snapshot. */
  laidOut(): void {
    const done = this.#onLaidOut;
    this.#onLaidOut = undefined;
    done?.();
  }

  /** Returns the last `count` printed lines. */
  lastLines(count: number): readonly string[] {
    return count <= 0 ? [] : this.#lastPrinted.slice(-count);
  }

  /** Prints the buffered blocks and removes everything else from the screen. */
  close(): void {
    this.#frames.stop();
    this.#draw(true);
    this.#spinner.stop();
  }

  #draw(isOver: boolean): void {
    if (this.#isHeld) return;
    const blocks = this.#pendingBlocks;
    this.#pendingBlocks = [];
    const { printed } = this.#snapshot;
    const lines = blocks.length === 0 ? [] : this.printer.print(this.look, blocks);
    if (lines.length > 0) this.#lastPrinted = [...this.#lastPrinted, ...lines].slice(-maxKeptLines);
    const next = lines.length === 0 ? printed : { number: printed.number + 1, lines };
    this.#snapshot = { printed: next, moment: this.#moment(), size: this.#size(), isOver };
    this.#spinner.update(this.#options.isBusy());
    for (const listener of this.#listeners) listener();
  }

  #size(): Size {
    const { columns, rows } = this.#options.size();
    return { columns, rows };
  }

  #moment(): Moment {
    const { clock, theme } = this.#options;
    const now = clock.now();
    return { now, frame: spinnerFrame(now, theme.symbols.cut !== '…') };
  }
}

/** Minimum time between two frames while content streams. */
const frameMs = 1000 / 30;

/** Limits the frame rate. The first frame is drawn at once. */
export class FrameLimiter {
  readonly #clock: Clock;
  readonly #draw: () => void;
  #lastMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, draw: () => void) {
    this.#clock = clock;
    this.#draw = draw;
  }

  /** Requests a frame. */
  request(): void {
    if (this.#cancel !== undefined) return;
    const waitMs = this.#lastMs + frameMs - this.#clock.now();
    if (waitMs <= 0) return this.drawNow();
    this.#cancel = this.#clock.after(Math.ceil(waitMs), () => this.drawNow());
  }

  /** Draws without a delay, because a key was pressed. */
  drawNow(): void {
    this.stop();
    this.#lastMs = this.#clock.now();
    this.#draw();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

const spinnerFrames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const plainSpinnerFrames = ['|', '/', '-', '\\'];
const spinnerFrameMs = 120;

/** Returns the spinner frame for a time. */
function spinnerFrame(nowMs: number, isPlain: boolean): string {
  const frames = isPlain ? plainSpinnerFrames : spinnerFrames;
  return frames[Math.floor(nowMs / spinnerFrameMs) % frames.length] ?? '';
}

/** Requests a frame at regular times while the spinner is active. */
class Spinner {
  readonly #clock: Clock;
  readonly #onTurn: () => void;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, onTurn: () => void) {
    this.#clock = clock;
    this.#onTurn = onTurn;
  }

  update(isTurning: boolean): void {
    if (!isTurning) return this.stop();
    this.#cancel ??= this.#clock.after(spinnerFrameMs, () => {
      this.#cancel = undefined;
      this.#onTurn();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
