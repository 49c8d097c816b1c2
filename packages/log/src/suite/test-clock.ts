import type { Clock } from '../contract/clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** What is due sooner than this is about order and not about time, and comes by itself. */
const immediateMs = 10;

/** Time that stands still until a test moves it. */
export class TestClock implements Clock {
  #now: number;
  readonly #timers = new Set<Timer>();
  /** Waits until what a timer set off has been answered, where that takes real time. */
  quiet: () => Promise<void> | undefined = () => undefined;

  constructor(now = 1_763_200_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    if (ms < immediateMs) {
      const soon = setImmediate(run);
      return () => clearImmediate(soon);
    }
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Time passes, and what is due on the way happens. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      this.#timers.delete(next);
      next.run();
      await eventLoopSettled();
      await this.quiet();
    }
    this.#now = end;
  }

  /** Time is gone and nothing happened meanwhile: as for a process that was paused. May be negative. */
  jump(ms: number): void {
    this.#now += ms;
  }

  #next(end: number): Timer | undefined {
    const due = [...this.#timers].filter(({ at }) => at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }
}

/** Resolves when what is under way, and what that sets off, has had its chance to happen. */
export async function eventLoopSettled(): Promise<void> {
  for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve));
}
