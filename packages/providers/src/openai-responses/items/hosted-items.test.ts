import { toBase64 } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64Bytes } from './hosted-items.ts';

test('base64 is read with all, some or none of its padding, url-safe or not', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(2), fc.boolean(), (bytes, cut, isSafe) => {
      const plain = toBase64(bytes);
      const padding = plain.length - plain.replace(/=+$/, '').length;
      const short = plain.slice(0, plain.length - Math.min(cut, padding));
      const text = isSafe ? short.replaceAll('+', '-').replaceAll('/', '_') : short;
      expect(base64Bytes(text)).toEqual(bytes);
    }),
  );
});

test('bits of the last digit that belong to no byte are passed over', () => {
  expect(base64Bytes('AR')).toEqual(Uint8Array.of(1));
  expect(base64Bytes('AQJ')).toEqual(Uint8Array.of(1, 2));
});

test('what is not base64 has no bytes', () => {
  for (const text of ['A', 'AB...CD', 'AQ?', 'A=Q=', 'é', 'AQ D']) {
    expect([text, base64Bytes(text)]).toEqual([text, undefined]);
  }
});
