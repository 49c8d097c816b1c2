import { describe, expect, test } from 'vitest';
import { abortOnReturn } from './abort-on-return.ts';

const never = (left: AbortSignal) =>
  new Promise<void>((resolve) => left.addEventListener('abort', () => resolve(), { once: true }));

describe('leavable', () => {
  test('a reader that leaves while it waits is let go, and the generator cleans up', async () => {
    const told: string[] = [];
    const stream = abortOnReturn(async function* (left) {
      try {
        yield 1;
        await never(left);
        yield 2;
        told.push('never');
      } finally {
        told.push('closed');
      }
    })[Symbol.asyncIterator]();
    expect(await stream.next()).toEqual({ done: false, value: 1 });
    const waiting = stream.next();
    expect(await stream.return?.()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: false, value: 2 });
    expect(told).toEqual(['closed']);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test('starts when the first value is asked for, and never for one who left before', async () => {
    let starts = 0;
    const counted = () =>
      abortOnReturn(async function* () {
        yield starts;
      })[Symbol.asyncIterator]();
    const start = () =>
      abortOnReturn(() => {
        starts++;
        return counted() as AsyncIterableIterator<number>;
      })[Symbol.asyncIterator]();
    const asked = start();
    expect(starts).toBe(0);
    await asked.next();
    expect(starts).toBe(1);
    const left = start();
    await left.return?.();
    expect(await left.next()).toEqual({ done: true, value: undefined });
    expect(starts).toBe(1);
  });

  test('is one iteration, however often it is asked for its iterator', async () => {
    const values = abortOnReturn(async function* () {
      yield* [1, 2, 3];
    });
    for await (const value of values) {
      expect(value).toBe(1);
      break;
    }
    const rest: number[] = [];
    for await (const value of values) rest.push(value);
    expect(rest).toEqual([]);
  });

  test('tells its own end, and what it throws', async () => {
    const all: number[] = [];
    for await (const value of abortOnReturn(async function* () {
      yield* [1, 2];
    }))
      all.push(value);
    expect(all).toEqual([1, 2]);
    const failing = abortOnReturn<number>(async function* () {
      yield 1;
      throw new RangeError('no');
    })[Symbol.asyncIterator]();
    await failing.next();
    await expect(failing.next()).rejects.toThrow(RangeError);
    const broken = abortOnReturn<number>(() => {
      throw new RangeError('no');
    })[Symbol.asyncIterator]();
    await expect(broken.next()).rejects.toThrow(RangeError);
    expect(await broken.next()).toEqual({ done: true, value: undefined });
  });
});
