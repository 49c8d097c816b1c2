import fc from 'fast-check';
import { expect, test } from 'vitest';
import { english } from '../../labels/en.ts';
import { clip, omittedText } from './long-text.tsx';

const limits = { headLines: 3, headLength: 40, tailLines: 2, tailLength: 20 };

test('a short text is complete', () => {
  for (const text of ['', 'a', 'a\nb\nc\nd\ne\n', 'x'.repeat(60)])
    expect(clip(text, limits)).toEqual({ head: text, tail: '' });
});

test('a long line keeps both ends and the size of the omitted text', () => {
  const { head, tail, omitted } = clip(`${'a'.repeat(1500)}; evil`, limits);
  expect(head).toBe('a'.repeat(40));
  expect(tail).toBe(`${'a'.repeat(14)}; evil`);
  expect(omitted && omittedText(english, omitted)).toBe('1,446 characters');
});

test('many lines keep both ends', () => {
  const { head, tail, omitted } = clip(`1\n2\n3\n${'\n'.repeat(100)}y\nz\n`, limits);
  expect([head, tail]).toEqual(['1\n2\n3\n', 'y\nz\n']);
  expect(omitted && omittedText(english, omitted)).toBe('100 lines, 100 characters');
});

test('the result never exceeds the limits and consists of the start and the end', () => {
  const letters = fc.constantFrom('a', '\n', '\u{1f600}', ' ');
  const text = fc.string({ unit: letters, maxLength: 300 });
  fc.assert(
    fc.property(text, (input) => {
      const { head, tail, omitted } = clip(input, limits);
      if (omitted === undefined) {
        expect(head).toBe(input);
        return;
      }
      expect(input.startsWith(head) && input.endsWith(tail)).toBe(true);
      expect(head.length).toBeLessThanOrEqual(40);
      expect(tail.length).toBeLessThanOrEqual(21);
      expect(head.split('\n').length - 1).toBeLessThanOrEqual(3);
      expect(input.length).toBeGreaterThan(head.length + tail.length);
      expect(`${head}|${tail}`.isWellFormed()).toBe(true);
    }),
  );
});
