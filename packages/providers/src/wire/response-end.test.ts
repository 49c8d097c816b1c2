import { noUsage } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { bodyLength, completeUsage, type StopReasons, stopOf, textLength } from './response-end.ts';

const words: StopReasons = {
  end_turn: 'stop',
  tool_use: 'tool_use',
  max_tokens: 'length',
  safety: 'content_filter',
  refusal: 'refusal',
  pause_turn: 'pause',
};

describe('a stop reason', () => {
  test.each([
    ['end_turn', 'stop'],
    ['max_tokens', 'length'],
    ['safety', 'content_filter'],
    ['refusal', 'refusal'],
    ['pause_turn', 'pause'],
    ['moonrise', 'unknown'],
    ['', 'unknown'],
  ])('%s is %s, and the original reason is kept', (raw, reason) => {
    expect(stopOf(raw, words, false)).toEqual({ reason, raw });
  });

  test('§2 (a) stop is tool_use where there are client calls', () => {
    expect(stopOf('end_turn', words, true)).toEqual({ reason: 'tool_use', raw: 'end_turn' });
    expect(stopOf('tool_use', words, true)).toEqual({ reason: 'tool_use', raw: 'tool_use' });
  });

  test.each([
    ['max_tokens', 'length'],
    ['safety', 'content_filter'],
    ['refusal', 'refusal'],
    ['pause_turn', 'pause'],
    ['moonrise', 'unknown'],
  ])('§2 (b) %s is never tool_use, whatever calls there are', (raw, reason) => {
    expect(stopOf(raw, words, true)).toEqual({ reason, raw });
  });

  test('§2 (c), (d) tool_use without a client call is a stop, and says so', () => {
    expect(stopOf('tool_use', words, false)).toEqual({
      reason: 'stop',
      raw: 'tool_use',
      cause: 'no_tool_call',
    });
  });

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'of a name that every object has is unknown: %s',
    (raw) => {
      expect(stopOf(raw, words, true)).toEqual({ reason: 'unknown', raw });
    },
  );
});

const length = () => 399;
const said = { ...noUsage, input: 50, output: 5, cacheRead: 20, reasoning: 2 };

describe('usage', () => {
  test('that the provider reported stays unchanged', () => {
    expect(completeUsage(said, length, 4000)).toBe(said);
    expect(completeUsage(said, () => expect.unreachable(), 0)).toBe(said);
  });

  test('that was not reported is estimated from both texts, and marked', () => {
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

  test('that was reported in part is completed', () => {
    const part = { ...said, estimated: true };
    expect(completeUsage(part, length, 400)).toEqual({ ...part, output: 100 });
    expect(completeUsage(part, length, 4)).toEqual(part);
  });
});

const bytes = 'iVBORw0KGgo'.repeat(1000);

describe('the length of a body', () => {
  test('is that of its JSON', () => {
    expect(bodyLength({ a: 'b' })).toBe('{"a":"b"}'.length);
    expect(textLength({ a: 'b' })).toBe('{"a":"b"}'.length);
  });

  test.each<[string, unknown]>([
    ['base64', bytes],
    ['an address with data', `data:image/png;base64,${bytes}`],
    ['bytes', new Uint8Array(5000)],
  ])('counts %s, but not as text', (_, data) => {
    expect(bodyLength({ data })).toBeGreaterThan(5000);
    expect(textLength({ data })).toBe('{"data":""}'.length);
  });

  test('counts long text as text, and short words of any kind', () => {
    const text = 'some words '.repeat(1000);
    expect(textLength(text)).toBe(JSON.stringify(text).length);
    expect(textLength('abcdefgh')).toBe(10);
  });

  test('is 0 where there is not JSON', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const body of [circle, { big: 1n }, undefined]) {
      expect([bodyLength(body), textLength(body)]).toEqual([0, 0]);
    }
  });
});
