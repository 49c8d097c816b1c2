import type { Clock } from '../contract/clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/**
 * Timers with a delay below this number of milliseconds fire without an advance of the clock. Such short
 * delays only set the order of work.
 */
const immediateMs = 10;

/** A clock for tests. Its time changes only when the test advances it. */
export class TestClock implements Clock {
  #now: number;
  readonly #timers = new Set<Timer>();
  /**
   * Resolves when the effects of a timer are complete. Stores that need real time, such as a database server,
   * set it.
   */
  whenIdle: () => Promise<void> | undefined = () => undefined;

  constructor(now = 1_763_200_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    if (ms < immediateMs) {
      return macrotask(run);
    }
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves the time forward and runs the timers that become due. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      this.#timers.delete(next);
      next.run();
      await eventLoopSettled();
      await this.whenIdle();
    }
    this.#now = end;
  }

  /** Changes the time without running timers, as if the process was paused. `ms` may be negative. */
  jump(ms: number): void {
    this.#now += ms;
  }

  #next(end: number): Timer | undefined {
    const due = [...this.#timers].filter(({ at }) => at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }
}

/** Waits for three rounds of the event loop, so that pending callbacks can run. */
export async function eventLoopSettled(): Promise<void> {
  for (let round = 0; round < 3; round++) await nextMacrotask();
}

/** Resolves in the next round of the event loop. */
export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => void macrotask(resolve));
}

/**
 * The ports of a message channel. A message to the same process is the fastest macrotask that exists in all
 * runtimes.
 */
interface MessagePair {
  readonly port1: { onmessage: (() => void) | null; close(): void };
  readonly port2: { postMessage(value: null): void };
}

interface OptionalGlobals {
  readonly setImmediate?: (run: () => void) => unknown;
  readonly clearImmediate?: (task: unknown) => void;
  readonly MessageChannel?: new () => MessagePair;
}

/** Runs a callback in the next round of the event loop. Returns a function that cancels it. */
function macrotask(run: () => void): () => void {
  const {
    setImmediate: immediate,
    clearImmediate: clear,
    MessageChannel: Channel,
  } = globalThis as unknown as OptionalGlobals;
  if (immediate !== undefined && clear !== undefined) {
    const task = immediate(run);
    return () => clear(task);
  }
  if (Channel === undefined) {
    const timer = setTimeout(run, 0);
    return () => clearTimeout(timer);
  }
  const { port1, port2 } = new Channel();
  const cancel = () => {
    port1.onmessage = null;
    port1.close();
  };
  port1.onmessage = () => {
    cancel();
    run();
  };
  port2.postMessage(null);
  return cancel;
}
