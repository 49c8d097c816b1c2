import type { Clock } from '@millrace/providers';

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** The replay is idle after this number of event loop rounds without activity. */
const quietRounds = 8;

/**
 * The position of a replay. It counts the replayed records, and code can wait until a record is replayed. It
 * is also a clock that advances only when the replay is idle.
 */
export class Playback implements Clock {
  #count = 0;
  #timeMs = 0;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  readonly #timers = new Set<Timer>();
  #quiet = 0;
  #isWatching = false;
  /** The number of functions outside of the loop that are running. The replay is not idle while they run. */
  #held = 0;
  /** Called when the replay is idle and has no more timers, so that no code can continue. */
  onStuck: () => void = () => {};

  get count(): number {
    return this.#count;
  }

  /** Sets the position to `count` records. `timeMs` is the time of the last replayed record. */
  moveTo(count: number, timeMs: number): void {
    this.#count = count;
    this.#timeMs = timeMs;
    this.noteActivity();
  }

  /** Resolves when this number of records was replayed and delivered. */
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

  /** Waits for work outside of the loop, such as a function of the user. The replay is not idle meanwhile. */
  async hold<T>(work: () => T | Promise<T>): Promise<T> {
    this.#held++;
    try {
      return await work();
    } finally {
      this.#held--;
      this.noteActivity();
    }
  }

  /** Restarts the idle check. Must be called after every event that may cause further work. */
  noteActivity(): void {
    this.#quiet = 0;
    if (this.#isWatching) return;
    this.#isWatching = true;
    macrotask(() => this.#checkIdle());
  }

  #checkIdle(): void {
    this.#isWatching = false;
    // The end of the work restarts the check.
    if (this.#held > 0) return;
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
    macrotask(() => this.#checkIdle());
  }

  #releaseWaiting(): boolean {
    const ready = this.#waiting.filter(({ count }) => count <= this.#count);
    if (ready.length === 0) return false;
    const waiting = this.#waiting.filter(({ count }) => count > this.#count);
    this.#waiting.splice(0, this.#waiting.length, ...waiting);
    for (const { resolve } of ready) resolve();
    this.#quiet = 0;
    return true;
  }
}

/**
 * Global functions that run a callback after pending work, faster than a timer. Some runtimes have neither of
 * them.
 */
interface OptionalGlobals {
  readonly setImmediate?: (run: () => void) => unknown;
  readonly MessageChannel?: new () => {
    readonly port1: { onmessage: (() => void) | null; close(): void };
    readonly port2: { postMessage(value: null): void };
  };
}

/** Resolves in the next round of the event loop. */
export function nextRound(): Promise<void> {
  return new Promise((resolve) => macrotask(resolve));
}

/** Runs a callback in the next round of the event loop. */
function macrotask(run: () => void): void {
  const { setImmediate: immediate, MessageChannel: Channel } =
    globalThis as unknown as OptionalGlobals;
  if (immediate !== undefined) return void immediate(run);
  if (Channel === undefined) return void setTimeout(run, 0);
  const { port1, port2 } = new Channel();
  port1.onmessage = () => {
    port1.close();
    run();
  };
  port2.postMessage(null);
}
