import type { Clock } from '@millrace/agent';
import { describe, expect, test } from 'vitest';
import { namedKey } from '../keys/key.ts';
import { AnswerGuard, quietMs, settleMs } from './answer-guard.ts';

// A busy process reads keys late. Its timers are also late, and they run before the keys are read,
// as in Node's event loop.

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/** The clock of a process that is busy at times. */
class BusyClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueMs: this.#nowMs + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Makes the process busy for a time. After that, it runs all timers that are due. */
  busy(ms: number): void {
    this.#nowMs += ms;
    for (const timer of [...this.#timers].filter(({ dueMs }) => dueMs <= this.#nowMs)) {
      if (this.#timers.delete(timer)) timer.run();
    }
  }

  /** The process is idle, so every timer runs on time. */
  idle(ms: number): void {
    for (let left = ms; left > 0; left--) this.busy(1);
  }
}

function guardWith(clock: Clock): AnswerGuard {
  return new AnswerGuard({ clock, onChange: () => {} });
}

describe('keys that a busy process reads late', () => {
  test.for([quietMs, quietMs + 1, 1500, 5000])(
    'attack: a key that waits for a process that is busy for %i ms is not after a pause',
    (ms) => {
      const clock = new BusyClock();
      const guard = guardWith(clock);
      guard.restart();
      clock.busy(ms);
      expect(guard.isQuiet).toBe(false);
      // The process reads the waiting key now.
      guard.restart();
      clock.idle(quietMs);
      expect(guard.isQuiet).toBe(true);
    },
  );

  test('attack: a process that is busy at the end of the pause reads its keys first', () => {
    const clock = new BusyClock();
    const guard = guardWith(clock);
    guard.restart();
    clock.idle(quietMs - 10);
    clock.busy(400);
    expect(guard.isQuiet).toBe(false);
    clock.idle(50);
    expect(guard.isQuiet).toBe(true);
  });

  test.for([settleMs, 400, 2000])(
    'attack: a key that follows the answer cancels it, although the process is busy for %i ms',
    (ms) => {
      const clock = new BusyClock();
      const guard = guardWith(clock);
      let answers = 0;
      guard.hold(namedKey('enter'), () => answers++);
      clock.busy(ms);
      guard.release();
      clock.idle(1000);
      expect(answers).toBe(0);
    },
  );

  test('an answer takes effect when the process is no longer busy', () => {
    const clock = new BusyClock();
    const guard = guardWith(clock);
    let answers = 0;
    guard.hold(namedKey('enter'), () => answers++);
    clock.busy(2000);
    clock.idle(50);
    expect(answers).toBe(1);
  });
});
