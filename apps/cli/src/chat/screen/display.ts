import type { Clock } from '@millrace/agent';
import type { Theme } from '../../text/theme/theme.ts';
import type { Block } from '../contract/block.ts';
import type { Moment } from '../render/call-lines.ts';
import type { Look } from '../render/look.ts';
import { Printer } from '../render/printer.ts';
import { type Drawn, nothingDrawn } from './reflow.ts';

interface DisplayOptions {
  readonly clock: Clock;
  readonly theme: Theme;
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Something goes on, so that the picture changes by itself. */
  readonly isBusy: () => boolean;
}

/** What is to be seen: what was printed last, which goes there once, and the moment it is now. */
interface Picture {
  readonly printed: { readonly number: number; readonly lines: readonly string[] };
  readonly moment: Moment;
  /** The chat was left. */
  readonly isOver: boolean;
}

/** More than a screen shows. */
const maxLast = 400;

/** Decides when something is drawn: at once, and while it streams at most so often. */
export class Display {
  readonly printer: Printer = new Printer();
  /** What was drawn last, kept by whoever draws, and what of that was written. */
  drawing: Drawn = nothingDrawn;
  drawn: Drawn = nothingDrawn;
  isUnfolded = false;
  readonly #options: DisplayOptions;
  readonly #frames: Frames;
  readonly #spinner: Spinner;
  readonly #listeners = new Set<() => void>();
  #waiting: readonly Block[] = [];
  #last: readonly string[] = [];
  #isHeld = false;
  #picture: Picture;

  constructor(options: DisplayOptions) {
    const { clock } = options;
    this.#options = options;
    this.#frames = new Frames(clock, () => this.#draw(false));
    this.#spinner = new Spinner(clock, () => this.#frames.request());
    const printed = { number: 0, lines: [] };
    this.#picture = { printed, moment: this.#moment(), isOver: false };
  }

  get look(): Look {
    const { size, theme } = this.#options;
    return { width: size().columns, theme, isUnfolded: this.isUnfolded };
  }

  get rows(): number {
    return this.#options.size().rows;
  }

  readonly snapshot = (): Picture => this.#picture;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Something may look different: soon. */
  changed(): void {
    this.#frames.request();
  }

  /** A key was pressed: now. */
  drawNow(): void {
    this.#frames.drawNow();
  }

  print(blocks: readonly Block[]): void {
    this.#waiting = [...this.#waiting, ...blocks];
    this.#frames.request();
  }

  /** Until `release` nothing is drawn; what is to be printed waits. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#frames.request();
  }

  /** The last lines that were printed. */
  lastLines(count: number): readonly string[] {
    return count <= 0 ? [] : this.#last.slice(-count);
  }

  /** Prints what waits, and leaves nothing else on the screen. */
  end(): void {
    this.#frames.stop();
    this.#draw(true);
    this.#spinner.stop();
  }

  #draw(isOver: boolean): void {
    if (this.#isHeld) return;
    const blocks = this.#waiting;
    this.#waiting = [];
    const { printed } = this.#picture;
    const lines = blocks.length === 0 ? [] : this.printer.print(this.look, blocks);
    if (lines.length > 0) this.#last = [...this.#last, ...lines].slice(-maxLast);
    const next = lines.length === 0 ? printed : { number: printed.number + 1, lines };
    this.#picture = { printed: next, moment: this.#moment(), isOver };
    this.#spinner.turn(this.#options.isBusy());
    for (const listener of this.#listeners) listener();
  }

  #moment(): Moment {
    const { clock, theme } = this.#options;
    const now = clock.now();
    return { now, frame: spinnerFrame(now, theme.symbols.cut !== '…') };
  }
}

/** So often at most something new is drawn, while it streams. */
const frameMs = 1000 / 30;

/** Draws when something changed: at once, and then at most so often. */
export class Frames {
  readonly #clock: Clock;
  readonly #draw: () => void;
  #lastMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, draw: () => void) {
    this.#clock = clock;
    this.#draw = draw;
  }

  /** Something changed. */
  request(): void {
    if (this.#cancel !== undefined) return;
    const waitMs = this.#lastMs + frameMs - this.#clock.now();
    if (waitMs <= 0) return this.drawNow();
    this.#cancel = this.#clock.after(Math.ceil(waitMs), () => this.drawNow());
  }

  /** Somebody pressed a key: what that changed is not waited for. */
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

const turns = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const plainTurns = ['|', '/', '-', '\\'];
const turnMs = 120;

/** By the time alone, so that whoever draws it need not remember where it was. */
function spinnerFrame(nowMs: number, isPlain: boolean): string {
  const frames = isPlain ? plainTurns : turns;
  return frames[Math.floor(nowMs / turnMs) % frames.length] ?? '';
}

/** Has something drawn again and again while it turns. */
class Spinner {
  readonly #clock: Clock;
  readonly #onTurn: () => void;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, onTurn: () => void) {
    this.#clock = clock;
    this.#onTurn = onTurn;
  }

  turn(isTurning: boolean): void {
    if (!isTurning) return this.stop();
    this.#cancel ??= this.#clock.after(turnMs, () => {
      this.#cancel = undefined;
      this.#onTurn();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
