import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodedLength, fromBase64, toBase64 } from './base64.ts';

const bufferBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

test('any bytes are the base64 that Buffer makes of them, and come back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400, size: 'max' }), (bytes) => {
      const text = toBase64(bytes);
      expect(text).toBe(bufferBase64(bytes));
      expect(decodedLength(text)).toBe(bytes.length);
      expect(fromBase64(text)).toEqual(bytes);
    }),
  );
});

test.each([8192, 8192 * 3, 8192 * 6].flatMap((size) => [size - 2, size - 1, size, size + 1]))(
  'so are %i bytes, around the strides in which text is built',
  (size) => {
    const bytes = Uint8Array.from(
      { length: size },
      (_, index) => (index * 31 + (index >> 8)) % 256,
    );
    const text = toBase64(bytes);
    expect(text).toBe(bufferBase64(bytes));
    expect(fromBase64(text)).toEqual(bytes);
  },
);

test('only the bytes of a view are written, not those of the buffer around it', () => {
  const around = Uint8Array.of(1, 2, 3, 4, 5, 6);
  expect(toBase64(around.subarray(1, 3))).toBe('AgM=');
});

test('the bytes are a Uint8Array that shares nothing', () => {
  const bytes = fromBase64('AQID');
  expect(bytes?.constructor).toBe(Uint8Array);
  expect(bytes?.buffer.byteLength).toBe(3);
});

describe('what is not base64 as we write it is refused', () => {
  test.each<[why: string, texts: readonly string[]]>([
    ['too short', ['A', 'AA', 'AAA', 'AAAAA']],
    ['without padding', ['AQ', 'AQI', 'AQIDBA']],
    ['with too much padding', ['A===', '====', 'AAAA====', 'AQID=', '=']],
    ['with padding inside', ['AQ==AQ==', 'A=ID', '=QID', 'AQ=D', 'AAAA=AAA']],
    ['with bits behind the last byte', ['AR==', 'AQJ=', 'AP//AF==', '//8B//9=']],
    ['with whitespace', ['AQ ==', 'AQID\n', ' AQID', 'AQ\tD', 'AQI\u00a0']],
    ['in the alphabet of URLs', ['-_-_', 'AQ-_']],
    ['with other characters', ['AQI!', 'AQ.D', 'AQ\u0000D', 'AQ@[', '`{/:']],
    ['with characters that are not ASCII', ['AQIé', 'AQ\u0100D', '\ud83d\ude00AA', 'ＡＱＩＤ']],
  ])('%s', (_why, texts) => {
    for (const text of texts) expect([text, fromBase64(text)]).toEqual([text, undefined]);
  });

  test('every text has bytes whose base64 it is, or none', () => {
    const unit = fc.constantFrom(...'ABQgw/+09=-_ é');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        const bytes = fromBase64(text);
        const isCanonical = bufferBase64(Buffer.from(text, 'base64')) === text;
        expect(bytes === undefined ? undefined : toBase64(bytes)).toBe(
          isCanonical ? text : undefined,
        );
      }),
    );
  });
});
