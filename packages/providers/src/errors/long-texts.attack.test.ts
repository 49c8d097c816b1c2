import { expect, test } from 'vitest';
import { endsByItself } from '../../../core/src/testing/ends-by-itself.ts';
import { redact } from './redact.ts';

// A hostile provider answers with an error of many characters. The search for keys in it needed quadratic time.

const starts = [
  ...[
    'sk-',
    'sk_',
    'pk-pk',
    'ghp_',
    'github_pat_',
    'AIza',
    'ya29.',
    'AKIA',
    'ASIA',
    'eyJ',
    'eyJaaaaaaaa.',
  ],
  ...[
    'bearer ',
    'bearer+',
    'bearer %20',
    'bearer \\',
    'bearer aaaaaaaa=%3D',
    'aeyJ',
    'eyJaaaaaaaa.bbbbbbbb',
  ],
];
const separators = [
  '',
  '-',
  '_',
  '.',
  '\n',
  '\\n',
  '%2F',
  '\\u0041',
  'x'.repeat(500),
  `-${'y'.repeat(500)}`,
];
const length = 400_000;

test.each(separators)(
  '18.815: attack: starts of keys after the separator %# need quadratic time',
  (separator) => {
    for (const start of starts) {
      const part = `${separator}${start}`;
      const text = part.repeat(Math.ceil(length / part.length));
      endsByItself(() => redact(`${text}!`, ['key-of-the-user']));
    }
  },
);

const first = 'eyJhbGciOiJIUzI1NiJ9';
const rest = 'eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLi4u';

test.each([
  [`${first}.${rest}`, '[redacted]'],
  [`token-${first}.${rest}`, 'token-[redacted]'],
  [`a_${first}-${first}.${rest} b`, 'a_[redacted] b'],
  [`aeyJ-${first}.${rest}`, 'aeyJ-[redacted]'],
  [`\\n${first}.${rest}`, '\\n[redacted]'],
  [`${first} ${first}.${rest}`, `${first} [redacted]`],
  [`${first}.${rest},${first}.${rest}`, '[redacted],[redacted]'],
  [`eyJabc.${first}.${rest}`, 'eyJabc.[redacted]'],
  [`x${first}.${rest}`, `x${first}.${rest}`],
])('18.815: the web token in %j is removed', (text, expected) => {
  expect(redact(text)).toBe(expected);
});
