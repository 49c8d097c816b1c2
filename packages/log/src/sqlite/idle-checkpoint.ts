import type { Clock } from '../local/clock.ts';

/** How long nobody has to write here before the journal is emptied. */
const idleMs = 2000;

/**
 * Empties the journal when nothing is written for a while. Under load that is SQLite's own affair, but
 * what was written last would stay in it, and the next one to open the file would have to read it.
 */
export class IdleCheckpoint {
  readonly #clock: Clock;
  readonly #checkpoint: () => boolean;
  #cancel: (() => void) | undefined;
  /** Something was committed since the timer was set. */
  #isBusy = false;
  #hasErased = false;

  constructor(clock: Clock, checkpoint: () => boolean) {
    this.#clock = clock;
    this.#checkpoint = checkpoint;
  }

  noteCommit(): void {
    this.#isBusy = true;
    if (this.#cancel === undefined) this.#setTimer();
  }

  /**
   * What was redacted or deleted is in the journal, or in the file under it, until that is emptied:
   * now, or as soon as nobody reads, however busy it is here.
   */
  noteErasure(): void {
    this.#hasErased = true;
    if (!this.#isDone() && this.#cancel === undefined) this.#setTimer();
  }

  stop(): void {
    this.#cancel?.();
    if (this.#hasErased) this.#isDone();
  }

  #setTimer(): void {
    this.#isBusy = false;
    this.#cancel = this.#clock.after(idleMs, () => this.#look(), { isIdle: true });
  }

  #look(): void {
    this.#cancel = undefined;
    const canWait = this.#isBusy && !this.#hasErased;
    if (canWait || !this.#isDone()) this.#setTimer();
  }

  /** What goes wrong here goes wrong at the next commit too, where there is somebody to hear of it. */
  #isDone(): boolean {
    try {
      if (!this.#checkpoint()) return false;
      this.#hasErased = false;
      return true;
    } catch {
      return true;
    }
  }
}
