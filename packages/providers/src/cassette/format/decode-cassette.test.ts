import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type BodyEnd,
  type Cassette,
  CassetteError,
  type RecordedExchange,
  type RecordedResponse,
} from '../cassette.ts';
import { decodeCassette } from './decode-cassette.ts';
import { encodeCassette } from './encode-cassette.ts';

const encode = (text: string) => new TextEncoder().encode(text);

const lines = [
  '{"type":"cassette","version":1}',
  '{"type":"request","startMs":0,"method":"POST","url":"https://h.example/v1","headers":{"content-type":"application/json"},"text":"{}"}',
  '{"type":"response","atMs":12,"status":200,"headers":{"content-type":"text/event-stream"}}',
  '{"type":"chunk","atMs":12.5,"text":"data: é\\n\\n"}',
  '{"type":"chunk","atMs":13,"base64":"w6k7ww=="}',
  '{"type":"end","atMs":20,"how":"end"}',
];

const example: Cassette = {
  exchanges: [
    {
      startMs: 0,
      request: {
        method: 'POST',
        url: 'https://h.example/v1',
        headers: { 'content-type': 'application/json' },
        body: encode('{}'),
      },
      response: {
        atMs: 12,
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        chunks: [
          { atMs: 12.5, bytes: encode('data: é\n\n') },
          { atMs: 13, bytes: Uint8Array.of(0xc3, 0xa9, 0x3b, 0xc3) },
        ],
      },
      end: { atMs: 20, how: 'end' },
    },
  ],
};

/** The example with some lines replaced. */
function withLines(changed: Readonly<Record<number, string>>): string {
  return lines.map((line, index) => changed[index + 1] ?? line).join('\n');
}

/** The example with one field of one line changed, or removed if the value is undefined. */
function withField(line: number, field: string, value: unknown): string {
  const object = JSON.parse(lines[line - 1] ?? '') as object;
  return withLines({ [line]: JSON.stringify({ ...object, [field]: value }) });
}

function errorOf(text: string): CassetteError {
  try {
    decodeCassette(text);
  } catch (error) {
    if (error instanceof CassetteError) return error;
    throw error;
  }
  throw new Error('decodeCassette did not throw');
}

describe('a cassette as text', () => {
  test('has one line for each event, with readable text where possible', () => {
    expect(encodeCassette(example)).toBe(`${lines.join('\n')}\n`);
    expect(decodeCassette(`${lines.join('\n')}\n`)).toEqual(example);
  });

  test('accepts other line endings and a missing last line end', () => {
    expect(decodeCassette(lines.join('\n'))).toEqual(example);
    expect(decodeCassette(lines.join('\r\n'))).toEqual(example);
  });

  test('may have no exchanges', () => {
    expect(decodeCassette(encodeCassette({ exchanges: [] }))).toEqual({ exchanges: [] });
  });

  test('decodes to the encoded value for any content', () => {
    fc.assert(
      fc.property(cassettes, (cassette) => {
        expect(decodeCassette(encodeCassette(cassette))).toEqual(cassette);
      }),
    );
  });
});

describe('an invalid cassette is rejected with the line and the field', () => {
  test.each([
    ['', 'unfinished', { line: 1 }],
    ['no', 'not_json', { line: 1, path: '$' }],
    ['[]', 'bad_value', { line: 1, path: '$' }],
    ['{}', 'bad_value', { line: 1, path: '$.type' }],
    [withField(1, 'type', 'request'), 'bad_value', { line: 1, path: '$.type' }],
    [withField(1, 'version', 0), 'bad_value', { line: 1, path: '$.version' }],
    [withField(1, 'version', 2), 'unsupported_version', { line: 1, path: '$.version' }],
    [withField(1, 'more', 1), 'bad_value', { line: 1, path: '$' }],
    [withField(2, 'type', 'response'), 'bad_value', { line: 2, path: '$.type' }],
    [withField(2, 'startMs', -1), 'bad_value', { line: 2, path: '$.startMs' }],
    [withField(2, 'method', 'a b'), 'bad_value', { line: 2, path: '$.method' }],
    [withField(2, 'url', ''), 'bad_value', { line: 2, path: '$.url' }],
    [withField(2, 'url', undefined), 'bad_value', { line: 2, path: '$.url' }],
    [withField(2, 'headers', []), 'bad_value', { line: 2, path: '$.headers' }],
    [withField(2, 'headers', { Accept: 'x' }), 'bad_value', { line: 2, path: '$.headers' }],
    [withField(2, 'headers', { accept: 1 }), 'bad_value', { line: 2, path: '$.headers.accept' }],
    [withField(2, 'headers', { accept: '\n' }), 'bad_value', { line: 2, path: '$.headers.accept' }],
    [withField(2, 'isBodyClipped', false), 'bad_value', { line: 2, path: '$.isBodyClipped' }],
    [withField(2, 'text', 7), 'bad_value', { line: 2, path: '$.text' }],
    [withField(2, 'text', '\ud800'), 'bad_value', { line: 2, path: '$.text' }],
    [withField(2, 'base64', ''), 'bad_value', { line: 2, path: '$.base64' }],
    [withField(3, 'status', 99), 'bad_value', { line: 3, path: '$.status' }],
    [withField(3, 'status', 200.5), 'bad_value', { line: 3, path: '$.status' }],
    [withField(3, 'statusText', '\n'), 'bad_value', { line: 3, path: '$.statusText' }],
    [withField(3, 'atMs', '12'), 'bad_value', { line: 3, path: '$.atMs' }],
    [withField(4, 'atMs', 11), 'bad_value', { line: 4, path: '$.atMs' }],
    [withField(4, 'text', ''), 'bad_value', { line: 4, path: '$.text' }],
    [withField(4, 'text', undefined), 'bad_value', { line: 4, path: '$.text' }],
    [withField(5, 'base64', 'w6k7w'), 'bad_value', { line: 5, path: '$.base64' }],
    [withField(5, 'base64', 'w6k7wx=='), 'bad_value', { line: 5, path: '$.base64' }],
    [withField(5, 'base64', 'w6k7 ww=='), 'bad_value', { line: 5, path: '$.base64' }],
    [withField(5, 'type', 'request'), 'bad_value', { line: 5, path: '$.type' }],
    [withField(6, 'atMs', 12.9), 'bad_value', { line: 6, path: '$.atMs' }],
    [withField(6, 'how', 'well'), 'bad_value', { line: 6, path: '$.how' }],
    [withField(6, 'how', 'error'), 'bad_value', { line: 6, path: '$.error' }],
    [withField(6, 'error', { name: 'E', message: '' }), 'bad_value', { line: 6, path: '$' }],
    [
      withField(6, 'clipped', { chunks: 0, bytes: 0 }),
      'bad_value',
      { line: 6, path: '$.clipped.chunks' },
    ],
    [withLines({ 4: '' }), 'not_json', { line: 4, path: '$' }],
    [lines.slice(0, 5).join('\n'), 'unfinished', { line: 6 }],
    [lines.slice(0, 2).join('\n'), 'unfinished', { line: 3 }],
    [[lines[0], lines[1], lines[5]].join('\n'), 'bad_value', { line: 3, path: '$.how' }],
    [
      [...lines, '{"type":"chunk","atMs":30,"text":"x"}'].join('\n'),
      'bad_value',
      { line: 7, path: '$.type' },
    ],
  ])('%#: %s', (text, code, place) => {
    const error = errorOf(text);
    expect({ code: error.code, place: error.place }).toEqual({ code, place });
    expect(error.message).toContain(`line ${place.line}`);
    if ('path' in place) expect(error.message).toContain(place.path);
  });

  test('the message never contains the invalid value', () => {
    for (const field of ['type', 'method', 'url', 'headers', 'text', 'base64', 'hush-hush']) {
      expect(errorOf(withField(2, field, ['hush-hush'])).message).not.toContain('hush-hush');
    }
    expect(errorOf(withLines({ 3: '{"hush-hush' })).message).not.toContain('hush');
  });
});

const ms = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 8, maxLength: 8 });
const word = fc.string({ unit: fc.constantFrom(...'abc-12'), minLength: 1 });
const headers = fc.dictionary(word, fc.string({ unit: fc.constantFrom(...'a1 ;=é') }), {
  noNullPrototype: true,
});
const bytes = fc.oneof(
  fc.uint8Array({ minLength: 1 }).map((array) => Uint8Array.from(array)),
  fc.string({ unit: 'binary', minLength: 1 }).map(encode),
  fc.constant(Uint8Array.of(0xef, 0xbb, 0xbf)),
);
const error = fc.record(
  { name: word, message: fc.string({ unit: 'binary' }), code: word },
  { requiredKeys: ['name', 'message'] },
);
const clipped = fc.record({ chunks: fc.integer({ min: 1 }), bytes: fc.nat() });

const exchanges: fc.Arbitrary<RecordedExchange> = fc
  .record({
    times: ms,
    method: fc.constantFrom('GET', 'POST'),
    headers,
    body: fc.option(fc.oneof(bytes, fc.constant(new Uint8Array())), { nil: undefined }),
    status: fc.integer({ min: 100, max: 999 }),
    statusText: fc.constantFrom('OK', undefined),
    chunks: fc.array(bytes, { maxLength: 5 }),
    error,
    how: fc.constantFrom('end', 'cancelled', 'error'),
    clipped: fc.option(clipped, { nil: undefined }),
    hasResponse: fc.boolean(),
  })
  .map((drawn) => {
    const [startMs = 0, ...rest] = drawn.times;
    const times = rest.toSorted((a, b) => a - b);
    const how = drawn.hasResponse || drawn.how !== 'end' ? drawn.how : 'error';
    const end: BodyEnd = {
      atMs: times.at(-1) ?? 0,
      how,
      ...(how === 'error' ? { error: drawn.error } : {}),
      ...(drawn.clipped !== undefined && drawn.hasResponse ? { clipped: drawn.clipped } : {}),
    };
    const response: RecordedResponse = {
      atMs: times[0] ?? 0,
      status: drawn.status,
      ...(drawn.statusText === undefined ? {} : { statusText: drawn.statusText }),
      headers: drawn.headers,
      chunks: drawn.chunks.map((chunk, index) => ({ atMs: times[index + 1] ?? 0, bytes: chunk })),
    };
    const body = drawn.body === undefined ? {} : { body: drawn.body };
    const request = { method: drawn.method, url: '/v1?a=b', headers: drawn.headers, ...body };
    return { startMs, request, ...(drawn.hasResponse ? { response } : {}), end };
  });

const cassettes: fc.Arbitrary<Cassette> = fc
  .record({ exchanges: fc.array(exchanges, { maxLength: 3 }), unrecorded: fc.nat(2) })
  .map(({ exchanges, unrecorded }) => ({ exchanges, ...(unrecorded > 0 ? { unrecorded } : {}) }));
