import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../testing/runs.ts';
import { textHash } from './text-hash.ts';

function expected(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'utf16le').swap16()).digest('hex');
}

test('textHash is the SHA-256 of the UTF-16 code units', () => {
  for (let length = 0; length < 130; length++) {
    const text = 'aü€'.repeat(length).slice(0, length);
    expect(textHash(text), `${length}`).toBe(expected(text));
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      expect(textHash(text)).toBe(expected(text));
    }),
    { numRuns: runs(200) },
  );
});

test('textHash tells lone surrogates apart', () => {
  expect(textHash('\ud800')).not.toBe(textHash('\ud801'));
});
