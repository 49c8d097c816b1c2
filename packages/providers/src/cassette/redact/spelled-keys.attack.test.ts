import { expect, test } from 'vitest';
import { redactUrl } from './redact-http.ts';
import { createRedactor } from './redactor.ts';

// A server or a library repeats a key in another spelling, for example as the name of a host, which has only small
// letters. The cassette is committed to a repository.

const bytes = (text: string) => new TextEncoder().encode(text);
const decode = (chunks: readonly Uint8Array[]) => Buffer.concat(chunks).toString();

const secret = 'Corp-KEY/ÄÖü+77Xy';

test.each([
  secret.toLowerCase(),
  secret.toUpperCase(),
  encodeURIComponent(secret.toLowerCase()),
  encodeURIComponent(secret).toLowerCase(),
  JSON.stringify(secret.toLowerCase()).slice(1, -1),
])('18.1521: attack: a cassette contains a given secret in the spelling %s', (spelled) => {
  const redactor = createRedactor([secret]);
  expect(redactor.text(`x ${spelled} y`)).toBe('x (redacted) y');
  expect(decode(redactor.chunks([bytes(`x ${spelled} y`)], false))).toMatch(/^x \*+ y$/);
  const half = spelled.slice(0, 12);
  expect(decode(redactor.chunks([bytes(`x ${half}`)], true))).not.toContain(half);
});

test('18.1521: attack: a cassette contains a secret that is the name of a host', () => {
  const redactor = createRedactor(['AbCdEf123456']);
  expect(redactUrl('https://AbCdEf123456.example/v1', redactor)).not.toMatch(/abcdef123456/i);
});

test.each([
  'AKIAABCDEFGH1JKLMNOP',
  'AIzaSyA1234567890abcdefghijklmnopqrstuv',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLi4u',
  'sk-ant-api03-AbCd_ef-0123456789',
  'ghp_abcdefghijklmnop0123',
])('18.1521: attack: a cassette contains the key %s in small letters', (key) => {
  expect(createRedactor().text(`not ${key.toLowerCase()}!`)).toBe('not (redacted)!');
});

test('18.1521: ordinary words stay', () => {
  const text =
    'Asia Pacific, asiapacificsoutheast, SK-II, aizawa, pk-1, HF-22, eyjafjallajokull.is.example';
  expect(createRedactor().text(text)).toBe(text);
});
