import { toBase64 } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readDataUrl } from './data-url.ts';

const base64Of = (text: string) => toBase64(new TextEncoder().encode(text));

describe('readDataUrl', () => {
  test.each([
    ['data:image/png;base64,AQID', 'image/png', 'AQID'],
    ['DATA:image/png;BASE64,AQID', 'image/png', 'AQID'],
    ['data:text/plain;charset=utf-8;base64,YQ==', 'text/plain;charset=utf-8', 'YQ=='],
    ['data:text/csv,a%2Cb', 'text/csv', base64Of('a,b')],
    ['data:image/svg+xml;utf8,<svg a="b,c"/>', 'image/svg+xml;utf8', base64Of('<svg a="b,c"/>')],
    ['data:,hello', 'text/plain', base64Of('hello')],
  ])('reads %s', (url, mimeType, base64) => {
    expect(readDataUrl(url)).toEqual({ mimeType, base64 });
  });

  test.each(['https://a.example/data:x,y', 'data:text/plain', 'data:text/plain,%zz', ''])(
    'says that there is nothing in %s',
    (url) => {
      expect(readDataUrl(url)).toBeUndefined();
    },
  );

  test('gives any text back, whichever way it was put in', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const base64 = base64Of(text);
        expect(readDataUrl(`data:a/b;base64,${base64}`)).toEqual({ mimeType: 'a/b', base64 });
        expect(readDataUrl(`data:a/b,${encodeURIComponent(text)}`)?.base64).toBe(base64);
      }),
    );
  });
});
