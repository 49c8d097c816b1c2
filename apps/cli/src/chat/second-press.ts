import type { Clock } from '@millrace/agent';

/** The parts of the chat that the detection uses. */
interface Chat {
  readonly clock: Clock;
  readonly display: { drawNow(): void };
}

const secondKeyMs = 2000;

/** Detects two presses of a key within a short time. */
export class SecondPress {
  readonly #chat: Chat;
  #cancelWait: (() => void) | undefined;

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** True after the first press, while a second press is possible. */
  get isAwaited(): boolean {
    return this.#cancelWait !== undefined;
  }

  /** Handles a press. Returns true for the second press. */
  press(): boolean {
    const { clock, display } = this.#chat;
    const isSecond = this.isAwaited;
    this.cancel();
    if (!isSecond)
      this.#cancelWait = clock.after(secondKeyMs, () => {
        this.#cancelWait = undefined;
        display.drawNow();
      });
    display.drawNow();
    return isSecond;
  }

  cancel(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }
}
