import type { Clock } from '@millrace/agent';
import type { Terminal } from '../contract/chat-options.ts';

interface DebouncedSizeOptions {
  readonly clock: Clock;
  /**
   * Called when the size starts to change. After that, no output for the old size may reach the
   * terminal.
   */
  readonly onChanging: () => void;
  /** Called when the size has stopped changing. Call `notify` to run the resize listeners. */
  readonly onSettled: (notify: () => void) => void;
}

/**
 * The time for which the size must stay the same before it counts as final. tmux reports sizes
 * every 250 ms, so this time is longer.
 */
const settleMs = 300;

type Listener = () => void;

/** The size of a terminal. Resize listeners are called only after the size has stopped changing. */
export class DebouncedSize {
  readonly #terminal: Terminal;
  readonly #options: DebouncedSizeOptions;
  readonly #listeners = new Set<Listener>();
  #reported: { readonly columns: number | undefined; readonly rows: number | undefined };
  #cancel: (() => void) | undefined;
  #isDebouncing = true;

  constructor(terminal: Terminal, options: DebouncedSizeOptions) {
    this.#terminal = terminal;
    this.#options = options;
    this.#reported = sizeOf(terminal);
    terminal.on('resize', this.#onResize);
  }

  get columns(): number | undefined {
    return this.#reported.columns;
  }

  get rows(): number | undefined {
    return this.#reported.rows;
  }

  get isSettled(): boolean {
    return this.#cancel === undefined;
  }

  on(listener: Listener): void {
    this.#listeners.add(listener);
  }

  off(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /**
   * Reads the size of the terminal. On a busy machine, timers run before the signal that reports a
   * new size, so a program must call this method before it draws.
   */
  refresh(): void {
    this.#terminal._refreshSize?.();
  }

  /**
   * Until `resume` is called, changes of the size are reported immediately. Use it while a
   * different program uses the terminal.
   */
  pause(): void {
    this.#isDebouncing = false;
    if (!this.isSettled) this.#settle();
  }

  resume(): void {
    this.#isDebouncing = true;
  }

  close(): void {
    this.pause();
    this.#terminal.off('resize', this.#onResize);
  }

  readonly #onResize = (): void => {
    if (this.isSettled) this.#options.onChanging();
    this.#cancel?.();
    const isLast = () => this.#cancel === cancel;
    const cancel = this.#options.clock.after(settleMs, () => {
      this.refresh();
      if (isLast()) this.#settle();
    });
    this.#cancel = cancel;
    if (!this.#isDebouncing) this.#settle();
  };

  #settle(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#reported = sizeOf(this.#terminal);
    this.#options.onSettled(() => this.notify());
  }
}

function sizeOf({ columns, rows }: Terminal) {
  return { columns, rows };
}
