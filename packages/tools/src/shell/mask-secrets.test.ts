import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { secretMask } from './mask-secrets.ts';

const privateKey = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'b3BlbnNzaC1rZXktdjEAAAAA\n'.repeat(5)}-----END OPENSSH PRIVATE KEY-----`;
const jwt = `eyJ${'hbGciOiJIUzI1NiJ9'}.eyJ${'zdWIiOiIxMjM0NTY3ODkwIn0'}.${'dozjgNryP4J3jVmNHl0w5N'}`;

/** A key and the part of it that must not be shown. */
const keys: readonly (readonly [key: string, secret: string])[] = [
  ['sk-ant-api03-Ab1Cd2Ef3Gh4Ij5Kl6Mn', 'Ab1Cd2Ef3Gh4Ij5Kl6Mn'],
  ['sk_live_51H8Ab1Cd2Ef3Gh4Ij5', '51H8Ab1Cd2Ef3Gh4Ij5'],
  [`ghp_${'a1B2'.repeat(9)}`, 'a1B2a1B2'],
  [`github_pat_${'11ABC_d'.repeat(5)}`, '11ABC_d'],
  [`glpat-${'x1Y2'.repeat(5)}`, 'x1Y2x1Y2'],
  ['xoxb-1234567890-abcdefABCDEF', 'abcdefABCDEF'],
  ['AKIAIOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
  [`AIza${'Sy1_'.repeat(9)}`, 'Sy1_Sy1_'],
  [jwt, 'zdWIiOiIxMjM0NTY3ODkwIn0'],
  [jwt, 'dozjgNryP4J3jVmNHl0w5N'],
  [privateKey, 'b3BlbnNzaC1rZXktdjEAAAAA'],
  ['postgres://me:hush-hush@db.example/x', 'hush-hush'],
  ['correct horse: battery/staple?', 'battery/staple'],
  ['größtes Geheimnis', 'Geheimnis'],
];
const env = {
  MY_TOKEN: 'correct horse: battery/staple?',
  DB_PASSWORD: 'größtes Geheimnis',
  HOME: '/srv/me/long-enough',
  SHORT_KEY: 'true',
};

function mask(pieces: readonly Uint8Array[]): string {
  const { add, end } = secretMask(env);
  return Buffer.concat([...pieces.map(add), end()]).toString('utf8');
}

function split(text: string, cuts: readonly number[]): readonly Uint8Array[] {
  const bytes = Buffer.from(text, 'utf8');
  const points = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  return points
    .toSorted((a, b) => a - b)
    .map((point, index, all) => bytes.subarray(point, all[index + 1]));
}

const whole = (text: string) => mask([Buffer.from(text, 'utf8')]);

test.for(keys)('a key is masked: $0', ([key, secret]) => {
  for (const text of [key, `A=${key}\n`, `"${key}"`, `x ${key} y ${key}`]) {
    expect(whole(text)).not.toContain(secret);
    expect(whole(text)).toContain('[masked]');
  }
});

// The arguments of a call are stored as JSON, so a line break before a key is a backslash and a letter.
test.for(keys)('18.841: attack: a key after an escape of JSON is masked: $0', ([key, secret]) => {
  const lines = ['\n', '\t', '\r\n', '\u0000', '\u00e9'].map((before) => `KEYS=${before}${key}\n`);
  for (const text of lines) {
    const once = JSON.stringify(text);
    for (const json of [once, JSON.stringify(once)]) {
      expect(whole(json)).not.toContain(secret);
      expect(mask([...Buffer.from(json)].map((byte) => Uint8Array.of(byte)))).toBe(whole(json));
    }
  }
});

test.each([
  'a task-management-system-with-a-long-name',
  'https://example.com:8080/a@b?c=d:e@f',
  'git@github.com:a/b.git and ssh://git@host/path',
  'npm_config_cache=/tmp AKIA eyJ sk- ghp_ -----BEGIN CERTIFICATE----- true',
  'HOME is /srv/me/long-enough',
  '.'.repeat(100_000),
  'aGVsbG8='.repeat(10_000),
])('other text stays: %.60s', (text) => expect(whole(text)).toBe(text));

test('binary output stays as it is', () => {
  const bytes = Uint8Array.from({ length: 5000 }, (_, index) => (index * 7) % 256);
  const { add, end } = secretMask({});
  expect(Buffer.concat([add(bytes), end()])).toEqual(Buffer.from(bytes));
});

test('text is shown at once unless it may be the start of a key', () => {
  const { add } = secretMask({});
  const shown = (text: string) => Buffer.from(add(Buffer.from(text))).toString();
  expect(shown(`${'.'.repeat(100)}\n`).length).toBeGreaterThan(80);
  expect(shown('export A=sk-abc')).not.toContain('sk-abc');
});

describe('however the output is cut', () => {
  const noise = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom(
      'sk-',
      'ghp_',
      'eyJ',
      '://',
      '-----BEGIN ',
      'correct ',
      ' ',
      '\n',
      '.',
      'a',
      '\\n',
      '\\u00e9',
    ),
  );
  const piece = fc.oneof(noise, fc.constantFrom(...keys.map(([key]) => ` ${key} `)));
  const output = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

  test('no key gets through, and the result is the same', () => {
    fc.assert(
      fc.property(output, fc.array(fc.nat(), { maxLength: 40 }), (text, cuts) => {
        const masked = mask(split(text, cuts));
        expect(masked).toBe(whole(text));
        for (const [key, secret] of keys)
          if (text.includes(` ${key} `)) expect(masked).not.toContain(secret);
      }),
      { numRuns: runs(2000) },
    );
  });

  test('no key gets through byte by byte', () => {
    fc.assert(
      fc.property(fc.constantFrom(...keys), noise, ([key, secret], around) => {
        const text = `${around} ${key} ${around}`;
        const masked = mask([...Buffer.from(text, 'utf8')].map((byte) => Uint8Array.of(byte)));
        if (!around.includes(secret)) expect(masked).not.toContain(secret);
      }),
      { numRuns: runs(300) },
    );
  });
});

// With quadratic time, these inputs would exceed the time limit of a test.
test.each([
  'sk-',
  '-eyJ',
  'eyJa-',
  '://',
  '://a:',
  '-----BEGIN ',
  ' correct',
  'a',
  'sk-a ',
  '.SG.a',
  '-AKIA.',
  '-----BEGIN PRIVATE KEY-----',
])('a long output of %j takes linear time', (text) => {
  const { add, end } = secretMask(env);
  const bytes = Buffer.from(text.repeat(65_536 / text.length));
  let length = 0;
  for (let round = 0; round < 64; round++) length += add(bytes).length;
  expect(length + end().length).toBeGreaterThan(0);
});
