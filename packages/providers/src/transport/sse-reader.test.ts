import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineBuffer, SseReader } from './sse-reader.ts';

const pieces = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\r', '\r\n'), maxLength: 12 }),
  { maxLength: 12 },
);

function takeAll(texts: readonly string[], maxLength: number) {
  const buffer = new LineBuffer(maxLength);
  let taken = '';
  for (const text of texts) {
    const lines = buffer.take(text);
    expect(lines === '' || lines.endsWith('\n')).toBe(true);
    taken += lines;
    if (buffer.isTooLong) break;
  }
  return { taken, isTooLong: buffer.isTooLong };
}

describe('lines', () => {
  test('are the same however the text is cut', () => {
    fc.assert(
      fc.property(pieces, fc.nat(8), (texts, maxLength) => {
        const whole = texts.join('');
        const all = whole.replace(/\r\n?/g, '\n').split('\n');
        const long = all.findIndex((line) => line.length > maxLength);
        const kept = all.slice(0, long < 0 ? -1 : long);
        const expected = {
          taken: kept.map((line) => `${line}\n`).join(''),
          isTooLong: long >= 0,
        };
        expect(takeAll(texts, maxLength)).toEqual(expected);
        expect(takeAll([whole], maxLength)).toEqual(expected);
        expect(takeAll([...whole], maxLength)).toEqual(expected);
      }),
    );
  });

  test('are emitted as soon as they end, with CR or not', () => {
    const buffer = new LineBuffer(10);
    expect(buffer.take('a\r')).toBe('a\n');
    expect(buffer.take('')).toBe('');
    expect(buffer.take('\nb\r')).toBe('b\n');
    expect(buffer.take('\r')).toBe('\n');
    expect(buffer.take('\n')).toBe('');
    expect(buffer.take('c')).toBe('');
    expect(buffer.take('\n')).toBe('c\n');
  });
});

type Message = readonly [data: string, event: string | undefined];

/** The messages that the reader emits if the text arrives in these pieces. */
function readMessages(texts: readonly string[]): readonly Message[] {
  const messages: Message[] = [];
  const reader = new SseReader({
    maxEventLength: 1000,
    onMessage: (data, event) => messages.push([data, event]),
    onStrayText: () => {},
  });
  const encoder = new TextEncoder();
  for (const text of texts) reader.feed(encoder.encode(text));
  reader.end();
  return messages;
}

/** The same with another implementation of the specification. */
function expectedMessages(text: string): readonly Message[] {
  const messages: Message[] = [];
  const parser = createParser({ onEvent: ({ data, event }) => messages.push([data, event]) });
  parser.feed(`${text}\n\n`);
  // The reader skips empty messages and comments that a gateway wrapped as data.
  return messages.filter(([data, event]) =>
    data === '' ? event === 'error' : !data.startsWith(':'),
  );
}

const line = fc.oneof(
  fc.tuple(
    fc.constantFrom('data', 'event', 'id', 'retry', '', 'dat', 'datas', ' data'),
    fc.constantFrom('', ':', ': ', ':  '),
    fc.string({ unit: fc.constantFrom('a', 'é', ':', ' ', '1'), maxLength: 4 }),
  ),
  fc.constant(['', '', '']),
);
const end = fc.constantFrom('\n', '\r', '\r\n');
const stream = fc
  .array(fc.tuple(line, end), { maxLength: 20 })
  .map((lines) => lines.map(([parts, last]) => parts.join('') + last).join(''));

describe('messages', () => {
  test('are those of another reader, however the text is cut', () => {
    fc.assert(
      fc.property(stream, fc.nat(), (text, cut) => {
        const expected = expectedMessages(text);
        const at = cut % (text.length + 1);
        expect(readMessages([text])).toEqual(expected);
        expect(readMessages([text.slice(0, at), text.slice(at)])).toEqual(expected);
        expect(readMessages([...text])).toEqual(expected);
      }),
    );
  });
});
