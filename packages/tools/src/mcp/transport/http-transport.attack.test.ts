import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pacedReconnects } from './http-transport.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('18.900: attack: a server ends each stream at once and asks for reconnects without a pause', () => {
  const schedule = pacedReconnects();
  let count = 0;
  const again = () => {
    count++;
    schedule(again, 0);
  };
  schedule(again, 0);
  vi.advanceTimersByTime(60_000);
  expect(count).toBeGreaterThan(60);
  expect(count).toBeLessThan(75);
});

test('18.900: attack: a delay that no timer supports is not a delay of zero', () => {
  const reconnect = vi.fn();
  pacedReconnects()(reconnect, 1e15);
  vi.advanceTimersByTime(599_999);
  expect(reconnect).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(reconnect).toHaveBeenCalledTimes(1);
});

test('a server that closes its streams now and then gets the delay that it wants', () => {
  const schedule = pacedReconnects();
  const reconnect = vi.fn();
  for (let count = 1; count <= 30; count++) {
    vi.advanceTimersByTime(5000);
    schedule(reconnect, 500);
    vi.advanceTimersByTime(500);
    expect(reconnect).toHaveBeenCalledTimes(count);
  }
});

test('a reconnect can be cancelled', () => {
  const reconnect = vi.fn();
  pacedReconnects()(reconnect, 10)();
  vi.advanceTimersByTime(1000);
  expect(reconnect).not.toHaveBeenCalled();
});
