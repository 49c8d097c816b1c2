import { describe, expect, test } from 'vitest';
import { type StopWords, stopOf } from './stop-of.ts';

const words: StopWords = {
  end_turn: 'stop',
  tool_use: 'tool_use',
  max_tokens: 'length',
  safety: 'content_filter',
  refusal: 'refusal',
  pause_turn: 'pause',
};

describe('a reason to stop', () => {
  test.each([
    ['end_turn', 'stop'],
    ['max_tokens', 'length'],
    ['safety', 'content_filter'],
    ['refusal', 'refusal'],
    ['pause_turn', 'pause'],
    ['moonrise', 'unknown'],
    ['', 'unknown'],
  ])('%s is %s, and the word is kept', (raw, reason) => {
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
