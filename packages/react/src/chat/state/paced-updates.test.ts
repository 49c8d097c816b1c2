import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pacedUpdates } from './paced-updates.ts';

/** The time that the frame of an update takes, in ms. */
let frameMs: number;

beforeEach(() => {
  frameMs = 1;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  vi.stubGlobal('requestAnimationFrame', (frame: (startedAt: number) => void) =>
    frame(performance.now() - frameMs),
  );
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Requests an update in each millisecond. Returns the times of the updates. */
function updateTimes(ms: number): readonly number[] {
  const times: number[] = [];
  const request = pacedUpdates(() => times.push(performance.now() - start));
  const start = performance.now();
  for (let at = 0; at < ms; at++) {
    request();
    vi.advanceTimersByTime(1);
  }
  return times;
}

test('22.7: the first update runs at once, and further updates at most every 32 ms', () => {
  expect(updateTimes(100)).toEqual([0, 32, 64, 96]);
});

test('22.7: the last request is never lost', () => {
  const update = vi.fn();
  const request = pacedUpdates(update);
  request();
  request();
  expect(update).toHaveBeenCalledTimes(1);
  vi.runAllTimers();
  expect(update).toHaveBeenCalledTimes(2);
});

test('22.7: slow frames make updates rarer, up to 120 ms', () => {
  frameMs = 40;
  const times = updateTimes(3000);
  const last = (times.at(-1) ?? 0) - (times.at(-2) ?? 0);
  expect(last).toBeGreaterThan(110);
  expect(last).toBeLessThanOrEqual(120);
});

test('22.7: a page without frames updates as well', () => {
  vi.stubGlobal('requestAnimationFrame', undefined);
  expect(updateTimes(70)).toEqual([0, 32, 64]);
});
