import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { qrCode } from './qr-code.ts';
import { qrLines } from './share-session.ts';

const link = `https://example.com/app/tasks/0123456789abcdef#token=mr_${'0123456789'.repeat(4)}012`;

// An independent encoder (uqr 0.1.3, level L, mask 0) created the hashes.
test.each([
  ['Millrace', 21, 'f6470eb84db35529cbb653c69363a235747895039dde3a651fa0192d2f8d3400'],
  [link.slice(0, 99), 37, '7b8370c4518620527b6f6939a8aab944efcd42875734448bdc72810e67dc8432'],
  ['ä'.repeat(100), 53, 'ee184fc10f978666dbe954aa8e7e7b9509d6758f3cc928a6ab1c7c72e8f40420'],
  ['x'.repeat(425), 69, '9c359339fa73a835e47bf47052d990d6e0b81776cd9813110eb978632f9d46c9'],
])('23: the code of %j has the modules of another encoder', (text, size, hash) => {
  const code = qrCode(text) ?? expect.fail('no code');
  expect(code).toHaveLength(size);
  const modules = code.map((row) => row.map(Number).join('')).join('\n');
  expect(createHash('sha256').update(modules).digest('hex')).toBe(hash);
});

test('23: a text that is too long has no code', () => {
  expect(qrCode('x'.repeat(426))).toBeUndefined();
});

test('23: the lines of a code have a margin and half of its height', () => {
  const lines = qrLines(qrCode('Millrace') ?? expect.fail('no code'));
  expect(lines).toHaveLength(13);
  expect(lines.every((line) => [...line].length === 25)).toBe(true);
  expect(lines[0]).toBe('█'.repeat(25));
});
