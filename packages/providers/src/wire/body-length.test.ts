import { describe, expect, test } from 'vitest';
import { bodyLength, textLength } from './body-length.ts';

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

  test('is 0 where there is no JSON', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const body of [circle, { big: 1n }, undefined]) {
      expect([bodyLength(body), textLength(body)]).toEqual([0, 0]);
    }
  });
});
