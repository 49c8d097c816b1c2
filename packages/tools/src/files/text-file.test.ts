import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeText, encodeText } from './text-file.ts';

const encode = (text: string) => new TextEncoder().encode(text);

test('decoded text is encoded to the same bytes, with any line endings and byte order marks', () => {
  const pieces = fc.constantFrom('a', '\n', '\r\n', '\r', '\ufeff', 'é😀');
  fc.assert(
    fc.property(fc.array(pieces), (texts) => {
      const bytes = encode(texts.join(''));
      const file = decodeText(bytes);
      expect(file && encodeText(file)).toEqual(bytes);
    }),
  );
});

test('invalid UTF-8 is not decoded', () => {
  for (const bytes of [[0xff], [0x61, 0xe9], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0x80]]) {
    expect(decodeText(new Uint8Array(bytes))).toBeUndefined();
  }
});
