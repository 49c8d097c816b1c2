import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { FrameLimiter } from './display.ts';

test('draws the first change at once, later ones at most thirty times a second, and misses none', () => {
  const clock = new VirtualClock();
  const drawn: number[] = [];
  const start = clock.now();
  const frames = new FrameLimiter(clock, () => drawn.push(clock.now() - start));
  for (let ms = 0; ms < 1000; ms++) {
    frames.request();
    clock.advance(1);
  }
  expect(drawn[0]).toBe(0);
  expect(drawn.length).toBeLessThanOrEqual(31);
  expect(drawn.length).toBeGreaterThan(25);
  const last = drawn.length;
  clock.advance(1000);
  expect(drawn.length).toBe(last + 1);
  clock.advance(1000);
  expect(drawn.length).toBe(last + 1);
});

test('draws at once after a key, including pending changes', () => {
  const clock = new VirtualClock();
  let drawn = 0;
  const frames = new FrameLimiter(clock, () => drawn++);
  frames.request();
  frames.request();
  expect(drawn).toBe(1);
  frames.drawNow();
  expect(drawn).toBe(2);
  clock.advance(1000);
  expect(drawn).toBe(2);
  expect(clock.pending).toBe(0);
});
