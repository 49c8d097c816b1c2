import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clippedText } from './command-output.ts';

const note = (leftOut: number) => `[${leftOut}]`;

test('a short text is shown completely, and a long one with its two ends, for any chunks', () => {
  const piece = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\n', '😀'), maxLength: 30 });
  fc.assert(
    fc.property(fc.array(piece), fc.integer({ min: 2, max: 100 }), (pieces, maxLength) => {
      const text = pieces.join('');
      const clipped = clippedText(maxLength);
      for (const each of pieces) clipped.add(each);
      const shown = clipped.show(note);
      expect(clipped.length()).toBe(text.length);
      expect(clipped.isClipped()).toBe(text.length > maxLength);
      if (text.length <= maxLength) {
        expect(shown).toBe(text);
        return;
      }
      const [head = '', tail = ''] = shown.split(/\[\d+\]/);
      expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
      expect(head.length + tail.length).toBeLessThanOrEqual(maxLength);
      // Each cut loses at most half a surrogate pair, and an odd length loses one more unit.
      expect(head.length + tail.length).toBeGreaterThanOrEqual(maxLength - 3);
      expect(shown.isWellFormed()).toBe(true);
    }),
  );
});
