import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor } from './error-text.ts';

const http = (headers: Record<string, string>, url = 'http://x') =>
  createRedactor({ name: 'a', http: { url, headers } });

test('no header value is shown, neither unchanged nor in JSON nor in a URL', () => {
  const secret = fc
    .string({ minLength: 4, maxLength: 30 })
    .filter((value) => value.trim() === value && !'[secret]'.includes(value));
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
      const redact = http({ 'x-key': value });
      for (const form of [value, JSON.stringify(value), encodeURIComponent(value)]) {
        expect(redact(`${before} ${form} ${after}`)).not.toContain(value);
      }
    }),
  );
});

test('the token of a Bearer header is a secret', () => {
  const redact = http({ authorization: 'Bearer abc.def' });
  expect(redact('bad token abc.def in "Bearer abc.def"')).toBe('bad token [secret] in "[secret]"');
});

test('the decoded credentials of a Basic header are secrets', () => {
  const encoded = Buffer.from('alice:open-sesame').toString('base64');
  const redact = http({ authorization: `Basic ${encoded}` });
  expect(redact(`no alice with open-sesame (${encoded}, alice:open-sesame)`)).toBe(
    'no alice with [secret] ([secret], [secret])',
  );
});

test('of two secrets, one inside the other, both are redacted', () => {
  expect(http({ a: 'abcd', b: 'abcdefgh' })('abcdefgh abcd')).toBe('[secret] [secret]');
});

test('query values of a URL are secrets', () => {
  expect(http({}, 'http://x/?key=a%20b%20c')('at http://x/?key=a%20b%20c: a b c')).toBe(
    'at http://x/?key=[secret]: [secret]',
  );
});

test('long values of environment variables are secrets', () => {
  const env = { TOKEN: 'abcdefgh', DEBUG: 'true' };
  const redact = createRedactor({ name: 'a', stdio: { command: 'x', env } });
  expect(redact('true: abcdefgh')).toBe('true: [secret]');
});
