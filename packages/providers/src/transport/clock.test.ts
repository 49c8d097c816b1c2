import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the system clock', () => {
  test('calls back once', () => {
    const run = vi.fn();
    systemClock.after(10, run);
    vi.advanceTimersByTime(9);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(100);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test('does not call back what was cancelled', () => {
    const run = vi.fn();
    systemClock.after(10, run)();
    vi.advanceTimersByTime(100);
    expect(run).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([Infinity, 2 ** 31, 2 ** 40])('takes %d for never, not for at once', (ms) => {
    const run = vi.fn();
    systemClock.after(ms, run)();
    systemClock.after(ms, run);
    vi.advanceTimersByTime(1000);
    expect(run).not.toHaveBeenCalled();
  });

  test('returns the time', () => {
    vi.setSystemTime(123_456);
    expect(systemClock.now()).toBe(123_456);
  });
});
