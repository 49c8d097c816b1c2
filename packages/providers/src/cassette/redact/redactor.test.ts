import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordCassette } from '../record/record-cassette.ts';
import { isAllowedHeader, redactUrl } from './redact-http.ts';
import { createRedactor } from './redactor.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Redacts a body of one chunk. */
function mask(text: string, secrets: readonly string[] = [], isCut = false): string {
  return createRedactor(secrets)
    .chunks([encode(text)], isCut)
    .map(decode)
    .join('');
}

describe('text that looks like a key', () => {
  test.each([
    'sk-1234567890abcdef',
    'sk-ant-api03-AbCd_ef-0123456789',
    'sk-proj-abcdefgh12345678',
    'AIzaSyA1234567890abcdefghijklmnopqrstuv',
    'gsk_abcdefghij0123456789',
    'xai-abcdefghij0123456789',
    'hf_abcdefghijklmnop',
    'ghp_abcdefghijklmnop0123',
    'AKIAABCDEFGHIJKLMNOP',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLi4u',
  ])('is masked wherever it stands: %s', (key) => {
    const stars = '*'.repeat(key.length);
    expect(mask(key)).toBe(stars);
    expect(mask(`{"message":"Incorrect key: ${key}."}`)).toBe(
      `{"message":"Incorrect key: ${stars}."}`,
    );
    expect(mask(`{"text":"first\\n${key}"}`)).toBe(`{"text":"first\\n${stars}"}`);
    expect(mask(`q=%22${key}%22`)).toBe(`q=%22${stars}%22`);
  });

  test('is masked after Bearer, which is kept', () => {
    expect(mask('authorization: Bearer abc.def/ghi+jkl==, x')).toBe(
      `authorization: Bearer ${'*'.repeat(17)}, x`,
    );
    expect(mask('{"h":"bearer abcd\\/efgh"}')).toBe(`{"h":"bearer ${'*'.repeat(10)}"}`);
  });

  test('is not found in ordinary words and ids', () => {
    const text =
      'a task-specific risk-averse disk-management, msg_01ABCDEFGHIJ, toolu_01ABCDEFGHIJKL, call_abc123def456, resp_0123456789abcdef';
    expect(mask(text)).toBe(text);
  });
});

describe('a given secret', () => {
  const secret = 'pä"ss/w\\örd 😀%1';
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  const forms: readonly (readonly [string, (text: string) => string])[] = [
    ['as it is', (text) => text],
    ['in JSON', inJson],
    ['in JSON within JSON', (text) => inJson(inJson(text))],
    ['in JSON with escaped slashes', (text) => inJson(text).replaceAll('/', '\\/')],
    ['in ASCII JSON', escapeAll],
    [
      'in ASCII JSON with capitals',
      (text) => escapeAll(text).toUpperCase().replaceAll('\\U', '\\u'),
    ],
    ['percent-encoded', encodeURIComponent],
    ['percent-encoded in lower case', (text) => lowerPercents(encodeURIComponent(text))],
    ['percent-encoded twice', (text) => encodeURIComponent(encodeURIComponent(text))],
    ['as a form field', (text) => new URLSearchParams({ x: text }).toString().slice(2)],
  ];

  function escapeAll(text: string): string {
    return text.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  }

  function lowerPercents(text: string): string {
    return text.replace(/%../g, (code) => code.toLowerCase());
  }

  test.each(forms)('is masked %s, byte for byte', (_, write) => {
    const form = write(secret);
    expect(mask(`<${form}>`, [secret])).toBe(`<${'*'.repeat(encode(form).length)}>`);
  });

  test.each(forms)('is replaced %s in requests', (_, write) => {
    const form = write(secret);
    const redactor = createRedactor([secret]);
    expect(redactor.text(`<${form}|${form}>`)).toBe('<(redacted)|(redacted)>');
    expect(decode(redactor.bytes(encode(`<${form}>`)))).toBe('<(redacted)>');
  });

  test.each(forms)('is masked %s from four letters on if the body was cut', (_, write) => {
    const bytes = encode(`<${write(secret)}`);
    const redactor = createRedactor([secret]);
    for (let end = encode(`<${write(secret.slice(0, 4))}`).length; end <= bytes.length; end++) {
      const [masked] = redactor.chunks([bytes.subarray(0, end)], true);
      expect(decode(masked ?? bytes)).toBe(`<${'*'.repeat(end - 1)}`);
    }
  });

  test('a prefix is kept if nothing was cut, or if other text follows', () => {
    expect(mask('<known-o', ['known-one'])).toBe('<known-o');
    expect(mask('<known-other', ['known-one'], true)).toBe('<known-other');
  });

  test('is masked with the escape of its first letter, so that JSON stays valid', () => {
    const text = JSON.stringify({ a: '\nabcdef' });
    expect(JSON.parse(mask(text, ['nabcdef']))).toEqual({ a: '********' });
  });

  test('that overlaps another one is masked with it', () => {
    expect(createRedactor(['abcdef', 'defghi']).text('<abcdefghi>')).toBe('<(redacted)>');
    expect(mask('<abcdefghi>', ['abcdef', 'defghi'])).toBe('<*********>');
  });

  test.each(['', 'short', 'x'.repeat(4097)])('of harmful length is rejected', (bad) => {
    expect(() => createRedactor(['long enough', bad])).toThrow(
      expect.objectContaining({ code: 'bad_option', place: { path: 'secrets[1]' } }),
    );
  });

  test.each([undefined, null, 42, {}])(
    'that is %o is rejected, because it would be recorded',
    (bad) => {
      expect(() => recordCassette({ secrets: ['long enough', bad as string] })).toThrow(
        expect.objectContaining({ code: 'bad_option', place: { path: 'secrets[1]' } }),
      );
    },
  );

  test('that is not in a list is rejected', () => {
    const secrets = 'long enough' as unknown as string[];
    expect(() => recordCassette({ secrets })).toThrow(
      expect.objectContaining({ code: 'bad_option', place: { path: 'secrets' } }),
    );
  });

  test('of the maximum length is found', () => {
    const long = `${'\\'.repeat(100)}${'x" '.repeat(1332)}`;
    expect(mask(`<${long}>`, [long])).toBe(`<${'*'.repeat(long.length)}>`);
    expect(mask(`<${long.slice(0, 2000)}`, [long], true)).toBe(`<${'*'.repeat(1999 + 1)}`);
  });

  test('is masked without changing the length of any chunk, for any split', () => {
    const text = `data: {"key":"${secret}"}\n\ndata: ${encodeURIComponent(secret)} sk-abcdefgh12345\n\n`;
    const bytes = encode(text);
    const masked = mask(text, [secret]);
    const redactor = createRedactor([secret]);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        const clean = redactor.chunks(chunks, false);
        expect(clean.map(({ length }) => length)).toEqual(chunks.map(({ length }) => length));
        expect(decode(Uint8Array.from(clean.flatMap((chunk) => [...chunk])))).toBe(masked);
      }),
    );
  });

  test('before a key does not hide the key', () => {
    expect(createRedactor(['known-one']).text('known-onesk-12345678')).toBe('(redacted)');
    expect(mask('known-onesk-12345678', ['known-one'])).toBe('*'.repeat(20));
  });

  test('is removed once: redacted text does not change again', () => {
    const redactor = createRedactor([secret, 'known-one']);
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(secret, 'sk-', 'Bearer ', 'known-one', 'abcdefgh1', '"', '\\')),
        (parts) => {
          const once = redactor.text(parts.join(''));
          expect(redactor.text(once)).toBe(once);
        },
      ),
    );
  });
});

describe('a URL', () => {
  const clean = (url: string, secrets: readonly string[] = []) =>
    redactUrl(url, createRedactor(secrets));

  test('loses user, password and fragment', () => {
    expect(clean('https://user:pass@host.example/v1?a=1#frag')).toBe('https://host.example/v1?a=1');
  });

  test.each([
    'key',
    'api_key',
    'api-key',
    'apiKey',
    'APIKey',
    'apikey',
    'token',
    'access_token',
    'accessToken',
    'sig',
    'X-Amz-Signature',
    'X-Amz-Security-Token',
    'X-Amz-Credential',
    'client_secret',
    'password',
    'subscription%2Dkey',
  ])('loses the value of %s', (name) => {
    expect(clean(`https://h.example/p?a=b&${name}=abc%20d&alt=sse`)).toBe(
      `https://h.example/p?a=b&${name}=(redacted)&alt=sse`,
    );
  });

  test('keeps other parameters unchanged', () => {
    const url = 'https://h.example/p?max_tokens=5&alt=sse&x=a%20b+c&keywords=d&flag';
    expect(clean(url)).toBe(url);
  });

  test('has given secrets replaced in host, path and query', () => {
    expect(
      clean('https://tenant-77.example/bot/a%2Fbcdef/x?q=a/bcdef', ['tenant-77', 'a/bcdef']),
    ).toBe('https://(redacted).example/bot/(redacted)/x?q=(redacted)');
  });

  test('may be a path only, and an invalid one is dropped', () => {
    expect(clean('/v1/x?key=1')).toBe('/v1/x?key=(redacted)');
    expect(clean('http://user:pass@a b/')).toBe('about:invalid');
  });
});

test('headers are recorded by name, and unknown ones are dropped', () => {
  const keep = `accept content-type retry-after retry-after-ms x-ratelimit-remaining-tokens
    anthropic-ratelimit-requests-reset ratelimit-limit request-id x-request-id x-amzn-requestid
    x-goog-request-id anthropic-version anthropic-beta x-should-retry openai-processing-ms`;
  const drop = `authorization x-api-key api-key x-goog-api-key cookie set-cookie content-encoding
    content-length openai-organization anthropic-organization-id proxy-authorization x-foo`;
  expect(keep.split(/\s+/).filter((name) => !isAllowedHeader(name))).toEqual([]);
  expect(drop.split(/\s+/).filter(isAllowedHeader)).toEqual([]);
});
