import type { Clock } from '@millrace/agent';
import type { Terminal } from '../contract/chat-options.ts';
import { type CoalescedOutput, coalescedOutput } from './coalesced-output.ts';
import { SteadySize } from './debounced-size.ts';
import type { Display } from './display.ts';
import { type Drawn, eraseDrawn, eraseScreen, nothingDrawn, rowsAbove } from './reflow.ts';

interface ScreenOutputOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly hasColor: boolean;
  /** Lines that have become too long are wrapped anew. */
  readonly reflows: boolean;
}

/** So late a terminal may tell of a change. */
const lateMs = 300;

/** What was erased last, as what, and what stood above it. */
interface Erased {
  readonly drawn: Drawn;
  readonly columns: number;
  readonly at: number;
  readonly printed: readonly string[];
}

/** Whoever draws: forgets what it has drawn, and draws all of it again when it hears of a size. */
interface Drawer {
  clear(): void;
}

/**
 * Where the chat is drawn. While the terminal changes its size nothing is written, since nobody knows
 * where it would go; what was printed stays, whatever sizes come, and what is open is drawn anew.
 */
export class ScreenOutput {
  readonly size: SteadySize;
  readonly #options: ScreenOutputOptions;
  readonly #output: CoalescedOutput;
  #display: Pick<Display, 'drawing' | 'drawn' | 'hold' | 'release' | 'lastLines'> | undefined;
  #drawer: Drawer | undefined;
  /** What was on the screen when its size began to change. */
  #before: Drawn = nothingDrawn;
  #erased: Erased | undefined;
  /** To be printed again. */
  #lost: readonly string[] = [];

  constructor(options: ScreenOutputOptions) {
    const { terminal, clock, hasColor } = options;
    this.#options = options;
    this.size = new SteadySize(terminal, {
      clock,
      onUnsteady: () => this.#hold(),
      onSteady: (tell) => this.#drawAgain(this.#erasing(), tell),
    });
    const onWritten = () => {
      if (this.#display !== undefined) this.#display.drawn = this.#display.drawing;
    };
    this.#output = coalescedOutput(terminal, { hasColor, size: this.size, onWritten });
  }

  get stream(): Terminal {
    return this.#output.stream;
  }

  get columns(): number {
    return this.size.columns || 80;
  }

  get rows(): number {
    return this.size.rows || 24;
  }

  attach(display: Display, drawer: Drawer): void {
    this.#display = display;
    this.#drawer = drawer;
  }

  /** Clears the screen and draws all of it again, for one that is garbled. */
  redraw(): void {
    if (!this.size.isSteady || this.#display === undefined) return;
    this.#hold();
    const { height } = this.#before;
    const printed = this.#display.lastLines(this.rows - height - 1);
    const text = printed.map((line) => `${line}\r\n`).join('');
    this.#drawAgain(eraseScreen + text, () => this.size.tell());
  }

  end(): void {
    this.size.end();
    this.#output.end();
  }

  #hold(): void {
    this.#lost = this.#lostLines();
    this.#output.hold();
    this.#display?.hold();
    this.#before = this.#display?.drawn ?? nothingDrawn;
  }

  #erasing(): string {
    const { reflows, clock } = this.#options;
    if (!reflows) return eraseDrawn(this.#before, undefined);
    const { columns } = this;
    const printed = this.#display?.lastLines(this.rows) ?? [];
    this.#erased = { drawn: this.#before, columns, at: clock.now(), printed };
    return eraseDrawn(this.#before, columns) + this.#lost.map((line) => `${line}\r\n`).join('');
  }

  /**
   * What was printed and erased: where the terminal was wider already when it was taken for narrow, and told
   * of it a moment later. It is printed again.
   */
  #lostLines(): readonly string[] {
    const { clock, terminal } = this.#options;
    const last = this.#erased;
    if (last === undefined || clock.now() - last.at > lateMs) return [];
    const { columns = last.columns } = terminal;
    const lost = rowsAbove(last.drawn, last.columns) - rowsAbove(last.drawn, columns);
    return lost <= 0 ? [] : last.printed.slice(-lost);
  }

  #drawAgain(first: string, tell: () => void): void {
    this.#drawer?.clear();
    this.#output.release(first);
    tell();
    this.#display?.release();
  }
}
