import { describe, expect, test } from 'vitest';
import { usageOf } from './usage.ts';

describe('usage', () => {
  test('fact: input includes what was cached, output what was reasoned', () => {
    expect(
      usageOf({
        input_tokens: 7112,
        input_tokens_details: { cached_tokens: 3072, cache_write_tokens: 100 },
        output_tokens: 463,
        output_tokens_details: { reasoning_tokens: 64 },
        total_tokens: 7575,
      }),
    ).toEqual({
      input: 7112,
      output: 463,
      cacheRead: 3072,
      cacheWrite: 100,
      reasoning: 64,
      estimated: false,
      costs: [],
    });
  });

  test('trap: a total that counts reasoning apart says that output does not have it', () => {
    const usage = {
      input_tokens: 291,
      output_tokens: 26,
      output_tokens_details: { reasoning_tokens: 196 },
    };
    expect(usageOf({ ...usage, total_tokens: 513 })).toMatchObject({ output: 222, reasoning: 196 });
    expect(usageOf({ ...usage, total_tokens: 317 })).toMatchObject({ output: 26, reasoning: 196 });
    expect(usageOf(usage)).toMatchObject({ output: 26 });
  });

  test('trap: more from the cache than was sent is counted as sent', () => {
    const usage = { input_tokens: 5, input_tokens_details: { cached_tokens: 9 }, output_tokens: 1 };
    expect(usageOf(usage)).toMatchObject({ input: 9, cacheRead: 9 });
  });

  test('without one of the two sums is an estimate', () => {
    expect(usageOf({ input_tokens: 5 })).toMatchObject({ input: 5, output: 0, estimated: true });
    expect(usageOf({ output_tokens: 5 })).toMatchObject({ output: 5, estimated: true });
    expect(usageOf({ input_tokens: '5', output_tokens: -1 })).toMatchObject({ estimated: true });
  });
});
