import { noUsage } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { completeUsage } from './reckon-usage.ts';

const length = () => 399;
const said = { ...noUsage, input: 50, output: 5, cacheRead: 20, reasoning: 2 };

describe('usage', () => {
  test('that the provider said is left as it is', () => {
    expect(completeUsage(said, length, 4000)).toBe(said);
    expect(completeUsage(said, () => expect.unreachable(), 0)).toBe(said);
  });

  test('that it never said is reckoned from what was sent and what came, and marked', () => {
    expect(completeUsage(undefined, length, 41)).toEqual({
      ...noUsage,
      input: 100,
      output: 11,
      estimated: true,
    });
  });

  test('of a request that was never sent is nothing', () => {
    expect(completeUsage(undefined, () => 0, 0)).toEqual({ ...noUsage, estimated: true });
  });

  test('that it said in part is completed upwards', () => {
    const part = { ...said, estimated: true };
    expect(completeUsage(part, length, 400)).toEqual({ ...part, output: 100 });
    expect(completeUsage(part, length, 4)).toEqual(part);
  });
});
