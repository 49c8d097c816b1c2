import type { Clock } from '@millrace/providers';

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** How many rounds of the event loop nothing happens before it is believed that nothing will. */
const quietRounds = 8;

/**
 * Where a recording stands while it is played: how many of its records there have been, who waits for
 * which of them, and a clock that moves only when nothing else does.
 */
export class Playback implements Clock {
  #count = 0;
  #timeMs = 0;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  readonly #timers = new Set<Timer>();
  #quiet = 0;
  #isWatching = false;
  /** Called when nothing moves any more. */
  onStuck: () => void = () => {};

  get count(): number {
    return this.#count;
  }

  /** So many records there have been now, the last of them at this time. */
  moveTo(count: number, timeMs: number): void {
    this.#count = count;
    this.#timeMs = timeMs;
    this.noteActivity();
  }

  /** Resolves when there have been so many records, and they were told. */
  reached(count: number): Promise<void> {
    this.noteActivity();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  now(): number {
    return this.#timeMs;
  }

  after(ms: number, run: () => void): () => void {
    this.noteActivity();
    if (!Number.isFinite(ms)) return () => {};
    const timer = { dueMs: this.#timeMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Something happened: what could follow of it is waited for. */
  noteActivity(): void {
    this.#quiet = 0;
    if (this.#isWatching) return;
    this.#isWatching = true;
    setImmediate(() => this.#checkIdle());
  }

  #checkIdle(): void {
    this.#isWatching = false;
    if (this.#releaseWaiting() || this.#quiet++ < quietRounds) return this.#scheduleCheck();
    const timer = [...this.#timers].sort((a, b) => a.dueMs - b.dueMs)[0];
    if (timer === undefined) return this.onStuck();
    this.#timers.delete(timer);
    timer.run();
    this.noteActivity();
  }

  #scheduleCheck(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    setImmediate(() => this.#checkIdle());
  }

  #releaseWaiting(): boolean {
    const ready = this.#waiting.filter(({ count }) => count <= this.#count);
    if (ready.length === 0) return false;
    const left = this.#waiting.filter(({ count }) => count > this.#count);
    this.#waiting.splice(0, this.#waiting.length, ...left);
    for (const { resolve } of ready) resolve();
    this.#quiet = 0;
    return true;
  }
}
