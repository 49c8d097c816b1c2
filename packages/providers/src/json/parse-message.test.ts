import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseMessage } from './parse-message.ts';

describe('a message', () => {
  test('is its value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parseMessage(text))).toBe(text);
      }),
    );
  });

  test.each([
    '',
    ' ',
    '{',
    '{"a":1',
    '{"a":1}{"b":2}',
    'undefined',
    "{'a':1}",
    '{"a":NaN}',
    '\uFEFF{}',
  ])('is undefined where it is not JSON: %j', (text) => {
    expect(parseMessage(text)).toBeUndefined();
  });

  test('keeps keys that are escaped, many times over', () => {
    // V8 sometimes confuses such keys with others of the same shape.
    for (let nth = 0; nth < 200; nth++) {
      expect(parseMessage(`{"\\u0061${nth}":1,"b\\n":2}`)).toEqual({ [`a${nth}`]: 1, 'b\n': 2 });
    }
  });

  test('has __proto__ as a key like any other', () => {
    const value = parseMessage('{"__proto__":{"a":1}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value ?? {})).toEqual(['__proto__']);
  });

  test('may be long', () => {
    const text = 'x'.repeat(10 * 2 ** 20);
    expect(parseMessage(JSON.stringify({ text }))).toEqual({ text });
    expect(parseMessage(JSON.stringify({ text, '\n': 1 }))).toEqual({ text, '\n': 1 });
  });

  test('may not be so long and so deep that it does harm', () => {
    const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(parseMessage(deep(100_000))).toBeUndefined();
    expect(parseMessage(deep(100))).toBeDefined();
    expect(parseMessage(`[${'[],'.repeat(2 ** 21)}[]]`)).toBeUndefined();
  });
});
