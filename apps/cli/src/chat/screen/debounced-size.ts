import type { Clock } from '@millrace/agent';
import type { Terminal } from '../contract/chat-options.ts';

interface SteadySizeOptions {
  readonly clock: Clock;
  /** It changes: what is drawn from now on would be drawn for a size that is none any more. */
  readonly onUnsteady: () => void;
  /** It has stopped to, and the size is the terminal's. `tell` has everybody hear of it who listens. */
  readonly onSteady: (tell: () => void) => void;
}

/** Longer than it takes a terminal to tell of the last change: tmux tells four times a second. */
const steadyMs = 300;

type Listener = () => void;

/** The size of a terminal, told when it has stopped to change. */
export class SteadySize {
  readonly #terminal: Terminal;
  readonly #options: SteadySizeOptions;
  readonly #listeners = new Set<Listener>();
  #told: { readonly columns: number | undefined; readonly rows: number | undefined };
  #cancel: (() => void) | undefined;
  #isAwaited = true;

  constructor(terminal: Terminal, options: SteadySizeOptions) {
    this.#terminal = terminal;
    this.#options = options;
    this.#told = sizeOf(terminal);
    terminal.on('resize', this.#onResize);
  }

  get columns(): number | undefined {
    return this.#told.columns;
  }

  get rows(): number | undefined {
    return this.#told.rows;
  }

  get isSteady(): boolean {
    return this.#cancel === undefined;
  }

  on(listener: Listener): void {
    this.#listeners.add(listener);
  }

  off(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Each change is told at once, until `begin`: for when something else has the terminal, or will have it. */
  pause(): void {
    this.#isAwaited = false;
    if (!this.isSteady) this.#settle();
  }

  begin(): void {
    this.#isAwaited = true;
  }

  end(): void {
    this.pause();
    this.#terminal.off('resize', this.#onResize);
  }

  readonly #onResize = (): void => {
    if (this.isSteady) this.#options.onUnsteady();
    this.#cancel?.();
    this.#cancel = this.#options.clock.after(steadyMs, () => this.#settle());
    if (!this.#isAwaited) this.#settle();
  };

  #settle(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#told = sizeOf(this.#terminal);
    this.#options.onSteady(() => this.tell());
  }
}

function sizeOf({ columns, rows }: Terminal) {
  return { columns, rows };
}
