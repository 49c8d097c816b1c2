import type { Clock } from '@millrace/agent';

const turns = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const plainTurns = ['|', '/', '-', '\\'];
const turnMs = 120;

/** By the time alone, so that whoever draws it need not remember where it was. */
export function spinnerFrame(nowMs: number, isPlain: boolean): string {
  const frames = isPlain ? plainTurns : turns;
  return frames[Math.floor(nowMs / turnMs) % frames.length] ?? '';
}

/** Has something drawn again and again while it turns. */
export class Spinner {
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
