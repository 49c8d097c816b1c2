import type { Clock } from '@millrace/agent';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { wrapCells } from '../../text/cells/clip-text.ts';
import type { Theme } from '../../text/theme/theme.ts';
import type { Block } from '../contract/block.ts';
import type { Moment } from '../render/call-lines.ts';
import type { Look } from '../render/look.ts';
import { type BlockPrinter, Printer } from '../render/printer.ts';
import { type DrawnFrame, emptyFrame } from './reflow.ts';

interface Size {
  readonly columns: number;
  readonly rows: number;
}

interface DisplayOptions {
  readonly clock: Clock;
  /** The first theme. */
  readonly theme: Theme;
  readonly size: () => Size;
  /**
   * Returns true during a run or a replay. At these times, the screen changes without input from
   * the user.
   */
  readonly isBusy: () => boolean;
  /** Prints the blocks of the plain mode. Default: the screen is drawn. */
  readonly plain?: BlockPrinter | undefined;
  /** True if the terminal shows only ASCII. Default: false. */
  readonly isAscii?: boolean | undefined;
}

/** The width for which lines of the plain mode are made. The terminal then wraps them, and none is cut. */
const plainWidth = 2000;

/**
 * The content to draw: the last printed lines, and the live content at this moment. Printed lines
 * are written only once.
 */
interface DisplaySnapshot {
  readonly printed: { readonly number: number; readonly lines: readonly string[] };
  readonly moment: Moment;
  /** The terminal size for which the content is laid out. */
  readonly size: Size;
  /** True after the user has left the chat. */
  readonly isOver: boolean;
}

/** Maximum number of printed lines to keep. No screen is higher. */
const maxKeptLines = 400;

/**
 * Decides when to draw. It usually draws immediately. While content streams, it limits the frame
 * rate.
 */
export class Display {
  readonly printer: BlockPrinter;
  /**
   * The last rendered frame. The terminal may not show it yet. `writtenFrame` is the last frame
   * that was written to the terminal.
   */
  renderedFrame: DrawnFrame = emptyFrame;
  writtenFrame: DrawnFrame = emptyFrame;
  /** Draws the last frame again, and not only its differences. */
  drawWhole: () => void = () => {};
  /** Called before each frame except the last one. It can call `hold`. */
  beforeDraw: () => void = () => {};
  showsReasoning = false;
  /** True while another program uses the terminal, or the process is stopped. Nothing is drawn then. */
  isAway = false;
  /** While true, new blocks are kept and not printed, because the second screen of the terminal is open. */
  keepsBlocks = false;
  theme: Theme;
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
    this.theme = options.theme;
    this.printer = options.plain ?? new Printer();
    this.#frames = new FrameLimiter(clock, () => this.#draw(false));
    this.#spinner = new Spinner(clock, () => this.#frames.request());
    const printed = { number: 0, lines: [] };
    this.#snapshot = { printed, moment: this.#moment(), size: this.#size(), isOver: false };
  }

  get look(): Look {
    const { size, plain, isAscii } = this.#options;
    const { theme, showsReasoning } = this;
    if (plain !== undefined)
      return { width: plainWidth, theme, showsReasoning, isPlain: true, isAscii };
    return { width: size().columns, theme, showsReasoning, isAscii };
  }

  get rows(): number {
    return this.#options.size().rows;
  }

  readonly snapshot = (): DisplaySnapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Requests a frame after a possible change. The frame rate is limited. */
  requestDraw(): void {
    this.#frames.request();
  }

  /** Draws immediately, because the user pressed a key. */
  drawNow(): void {
    this.#frames.drawNow();
  }

  print(blocks: readonly Block[]): void {
    this.#pendingBlocks = [...this.#pendingBlocks, ...blocks];
    this.#frames.request();
  }

  /** True if a frame reaches the terminal now. */
  get isVisible(): boolean {
    return !this.#isHeld && !this.isAway;
  }

  /** Stops drawing until `release` is called. Blocks that must be printed are kept. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#frames.request();
  }

  /**
   * Creates the layout of the live region for a new size, and prints nothing. Calls `done`
   * afterwards.
   */
  layOut(done: () => void): void {
    if (this.#listeners.size === 0 || this.#snapshot.isOver) return done();
    this.#onLaidOut = done;
    this.#snapshot = { ...this.#snapshot, moment: this.#moment(), size: this.#size() };
    for (const listener of this.#listeners) listener();
  }

  /** The renderer calls this method when the layout of the last snapshot is complete. */
  laidOut(): void {
    const done = this.#onLaidOut;
    this.#onLaidOut = undefined;
    done?.();
  }

  /** Returns the last `count` printed lines. The rows of a link count as lines. */
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
    if (this.isVisible && !isOver) this.beforeDraw();
    if (!this.isVisible) return;
    const keeps = this.keepsBlocks && !isOver;
    const blocks = keeps ? [] : this.#pendingBlocks;
    if (!keeps) this.#pendingBlocks = [];
    const { printed } = this.#snapshot;
    const lines = blocks.length === 0 ? [] : this.printer.print(this.look, blocks);
    if (lines.length > 0) {
      const { columns } = this.#size();
      const rows = lines.flatMap((line) => rowsOf(line, columns));
      this.#lastPrinted = [...this.#lastPrinted, ...rows].slice(-maxKeptLines);
    }
    const next = lines.length === 0 ? printed : { number: printed.number + 1, lines };
    this.#snapshot = { printed: next, moment: this.#moment(), size: this.#size(), isOver };
    this.#spinner.update(this.#options.plain === undefined && this.#options.isBusy());
    for (const listener of this.#listeners) listener();
  }

  #size(): Size {
    const { columns, rows } = this.#options.size();
    return { columns, rows };
  }

  #moment(): Moment {
    const now = this.#options.clock.now();
    return { now, frame: spinnerFrame(now, this.theme.symbols.cut !== '…') };
  }
}

/** Returns the rows of a printed line. Only a link can need several. */
function rowsOf(line: string, columns: number): readonly string[] {
  return cellWidth(line) > columns ? wrapCells(line, Math.max(1, columns)) : [line];
}

/** Minimum time between two frames while content streams. */
const frameMs = 1000 / 30;

/** Limits the frame rate. The first frame is drawn immediately. */
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

  /** Draws immediately, because the user pressed a key. */
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

/** Requests frames at regular intervals while the spinner is active. */
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
