import { type Source, toBase64 } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Attachment, describeAttachment, readDataUrl } from './attachment.ts';

const bytesOf = (...bytes: number[]): Source => ({ type: 'bytes', bytes: Uint8Array.from(bytes) });
const textOf = (text: string): Source => ({
  type: 'bytes',
  bytes: new TextEncoder().encode(text),
});
const file = (name: string, mimeType: string, source: Source): Attachment => ({
  kind: 'file',
  name,
  mimeType,
  source,
});
const binary = bytesOf(0x50, 0x4b, 3, 4, 0);

describe('a text file is quoted with its name and type:', () => {
  test.each([
    'text/markdown',
    'Text/CSV; header=present',
    'application/json',
    'application/ld+json',
    'application/x-ndjson',
    'application/yaml',
    'application/x-sh',
    'application/typescript',
    'image/svg+xml',
  ])('%s', (mimeType) => {
    const type = JSON.stringify(mimeType);
    expect(describeAttachment(file('a "b".x', mimeType, textOf('1 < 2\n')))).toBe(
      `<file name="a \\"b\\".x" type=${type}>\n1 < 2\n\n</file>`,
    );
  });

  test('without a name if it has none', () => {
    const part: Attachment = { kind: 'media', mimeType: 'text/plain', source: textOf('a') };
    expect(describeAttachment(part)).toBe('<file type="text/plain">\na\n</file>');
  });

  test('in its own charset, and in UTF-8 if the charset is unknown', () => {
    const latin = (charset: string) =>
      describeAttachment(file('a', `text/plain; charset=${charset}`, bytesOf(0xe9)));
    expect(latin('iso-8859-1')).toContain('\né\n');
    expect(latin('"ISO-8859-1"')).toContain('\né\n');
    expect(latin('klingon')).toContain('\n\ufffd\n');
  });

  test('also from a data URL', () => {
    const source: Source = { type: 'url', url: 'data:text/plain;base64,YWJj' };
    expect(describeAttachment(file('a', 'text/plain', source))).toContain('\nabc\n');
  });

  test.each(['application/octet-stream', 'application/x-rust', 'video/mp2t', ''])(
    'also as %s, which does not say what it is, but only where it is nothing but text',
    (mimeType) => {
      expect(describeAttachment(file('a.ts', mimeType, textOf('let é = 1;\n')))).toContain(
        'let é = 1;',
      );
      for (const source of [binary, bytesOf(0xff, 0x41), bytesOf(0x41, 0)]) {
        expect(describeAttachment(file('a.ts', mimeType, source))).toContain('cannot be shown');
      }
    },
  );
});

describe('anything else is named:', () => {
  test('with its name and type, or its type alone', () => {
    expect(describeAttachment(file('a.zip', 'application/zip', binary))).toBe(
      '[An attachment cannot be shown: "a.zip" (application/zip)]',
    );
    expect(describeAttachment({ kind: 'media', mimeType: 'video/mp4', source: binary })).toBe(
      '[An attachment cannot be shown: video/mp4]',
    );
  });

  test('with its URL, unless that is a data URL or too long', () => {
    const at = (url: string) => describeAttachment(file('a', 'text/plain', { type: 'url', url }));
    expect(at('https://a.example/b')).toBe(
      '[An attachment cannot be shown: "a" (text/plain), at https://a.example/b]',
    );
    const bare = '[An attachment cannot be shown: "a" (text/plain)]';
    expect(at('data:text/plain,%zz')).toBe(bare);
    expect(at(`https://a.example/${'b'.repeat(2000)}`)).toBe(bare);
    expect(at('file:///etc/passwd')).toBe(bare);
  });

  test('in well-formed text', () => {
    const odd = describeAttachment(file('\ud800', 'a/\udc00', binary));
    expect(odd.isWellFormed()).toBe(true);
  });
});

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

  test('returns any text, however it was encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const base64 = base64Of(text);
        expect(readDataUrl(`data:a/b;base64,${base64}`)).toEqual({ mimeType: 'a/b', base64 });
        expect(readDataUrl(`data:a/b,${encodeURIComponent(text)}`)?.base64).toBe(base64);
      }),
    );
  });
});
