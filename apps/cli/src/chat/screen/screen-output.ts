import type { Clock } from '@millrace/agent';
import { type TerminalText, writeText } from '../../text/terminal/terminal-gate.ts';
import type { Terminal } from '../contract/chat-options.ts';
import { type CoalescedOutput, coalescedOutput } from './coalesced-output.ts';
import { DebouncedSize } from './debounced-size.ts';
import type { Display } from './display.ts';
import { type DrawnFrame, emptyFrame, eraseFrame, eraseScreen, rowsAbove } from './reflow.ts';

interface ScreenOutputOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly hasColor: () => boolean;
  /** True if the terminal wraps lines again when its width changes. */
  readonly reflows: boolean;
}

/** Maximum delay after which a terminal reports a resize. */
const lateResizeMs = 300;

/** The frame that was erased last, and the printed lines above it. */
interface ErasedFrame {
  readonly frame: DrawnFrame;
  readonly columns: number;
  readonly at: number;
  readonly printed: readonly string[];
}

/**
 * A renderer of frames. `clear` discards the last frame. When the renderer receives a new size, it
 * then draws everything again.
 */
interface FrameRenderer {
  clear(): void;
}

/**
 * The output of the chat. While the user resizes the terminal, the positions of lines are unknown,
 * so nothing is written. Printed lines stay. After the resize, the live region is drawn again.
 */
export class ScreenOutput {
  readonly size: DebouncedSize;
  readonly #options: ScreenOutputOptions;
  readonly #output: CoalescedOutput;
  #display:
    | Pick<
        Display,
        'renderedFrame' | 'writtenFrame' | 'hold' | 'release' | 'layOut' | 'lastLines' | 'isAway'
      >
    | undefined;
  #renderer: FrameRenderer | undefined;
  /** The frame on the screen when the resize started. */
  #frameBefore: DrawnFrame = emptyFrame;
  #erased: ErasedFrame | undefined;
  /** Printed lines that an erase removed. They must be printed again. */
  #linesToReprint: readonly string[] = [];

  constructor(options: ScreenOutputOptions) {
    const { terminal, clock, hasColor } = options;
    this.#options = options;
    this.size = new DebouncedSize(terminal, {
      clock,
      onChanging: () => this.#isAway || this.#hold(),
      // While another program uses the terminal, there is no frame.
      onSettled: (notify) => (this.#isAway ? notify() : this.#drawForNewSize(notify)),
    });
    const onWritten = () => {
      if (this.#display !== undefined) this.#display.writtenFrame = this.#display.renderedFrame;
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

  attach(display: Display, renderer: FrameRenderer): void {
    this.#display = display;
    this.#renderer = renderer;
    display.beforeDraw = () => this.size.refresh();
    const drawWhole = () => {
      if (!display.isVisible) return;
      renderer.clear();
      this.size.notify();
    };
    // The renderer would print new lines twice if it drew again at once.
    display.drawWhole = () => queueMicrotask(drawWhole);
  }

  /** Clears a garbled screen and draws everything again. */
  redraw(): void {
    if (!this.size.isSettled || this.#display === undefined) return;
    this.#hold();
    const { height } = this.#frameBefore;
    const printed = this.#display.lastLines(this.rows - height - 1);
    const text = printed.map((line) => `${line}\r\n`).join('');
    this.#redrawAfter(eraseScreen + text, () => this.size.notify());
  }

  /** Writes a sequence that does not change the screen. */
  send(text: TerminalText): void {
    writeText(this.#options.terminal, text);
  }

  close(): void {
    this.size.close();
    this.#output.close();
  }

  get #isAway(): boolean {
    return this.#display?.isAway === true;
  }

  #hold(): void {
    this.#linesToReprint = this.#lostLines();
    this.#output.hold();
    this.#display?.hold();
    this.#frameBefore = this.#display?.writtenFrame ?? emptyFrame;
  }

  #eraseSequence(): string {
    const { reflows, clock } = this.#options;
    if (!reflows) return eraseFrame(this.#frameBefore, undefined);
    const { columns } = this;
    const printed = this.#display?.lastLines(this.rows) ?? [];
    this.#erased = { frame: this.#frameBefore, columns, at: clock.now(), printed };
    return (
      eraseFrame(this.#frameBefore, columns) +
      this.#linesToReprint.map((line) => `${line}\r\n`).join('')
    );
  }

  /**
   * Returns printed lines that the last erase removed by mistake. This happens if the terminal was
   * already wider than its last report. The frame then had fewer rows than expected.
   */
  #lostLines(): readonly string[] {
    const { clock, terminal } = this.#options;
    const last = this.#erased;
    if (last === undefined || clock.now() - last.at > lateResizeMs) return [];
    const { columns = last.columns } = terminal;
    const lost = rowsAbove(last.frame, last.columns) - rowsAbove(last.frame, columns);
    return lost <= 0 ? [] : last.printed.slice(-lost);
  }

  /**
   * Creates the layout for the new size while all output is dropped, and draws it afterwards.
   * Without this, the renderer would draw the old layout in the new size. If the old layout is as
   * high as the terminal, the renderer would clear the whole screen, including printed lines.
   */
  #drawForNewSize(notify: () => void): void {
    const draw = () => {
      if (!this.size.isSettled) return;
      const [erased, linesToReprint] = [this.#erased, this.#linesToReprint];
      if (this.#redrawAfter(this.#eraseSequence(), notify)) return;
      this.#erased = erased;
      this.#linesToReprint = linesToReprint;
    };
    if (this.#display === undefined) draw();
    else this.#display.layOut(draw);
  }

  /**
   * Writes a text and draws everything again. Making the frame takes time. If the size has changed
   * since, it writes nothing and returns false.
   */
  #redrawAfter(first: string, notify: () => void): boolean {
    this.#renderer?.clear();
    this.#output.release(first);
    notify();
    const frame = this.#output.take();
    this.size.refresh();
    if (!this.size.isSettled) return false;
    this.#output.stream.write(frame);
    this.#display?.release();
    return true;
  }
}
