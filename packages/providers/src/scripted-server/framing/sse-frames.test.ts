import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ScriptedServerError } from '../script.ts';
import {
  frameSse,
  joinBytes,
  type LineEnding,
  type SseEvent,
  type SseOptions,
  splitAt,
  splitEvery,
  sseFrames,
} from './sse-frames.ts';

const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

interface Read {
  readonly events: { readonly event: string | undefined; readonly data: string }[];
  readonly comments: string[];
}

/** The result of a third-party parser that receives a few bytes at a time. */
function readBack(bytes: Uint8Array, pieceLength: number): Read {
  const read: Read = { events: [], comments: [] };
  const parser = createParser({
    onEvent: ({ event, data }) => read.events.push({ event, data }),
    onComment: (comment) => read.comments.push(comment),
  });
  const decoder = new TextDecoder();
  for (const piece of splitEvery(bytes, pieceLength)) {
    parser.feed(decoder.decode(piece, { stream: true }));
  }
  return read;
}

describe('frameSse', () => {
  test('frames the data and the name, if there is one', () => {
    expect(text(frameSse(['{"a":1}', { event: 'ping', data: '{}' }]))).toBe(
      'data: {"a":1}\n\nevent: ping\ndata: {}\n\n',
    );
  });

  test('applies each option exactly', () => {
    const framed = (options: SseOptions) => text(frameSse(['{"type":"x"}', 'b'], options));
    expect(framed({ lineEnding: '\r\n' })).toBe('data: {"type":"x"}\r\n\r\ndata: b\r\n\r\n');
    expect(framed({ lineEnding: '\r' })).toBe('data: {"type":"x"}\r\rdata: b\r\r');
    expect(framed({ lineEnding: 'mixed' })).toBe('data: {"type":"x"}\n\ndata: b\r\n\r\n');
    expect(framed({ byteOrderMark: true })).toBe('\uFEFFdata: {"type":"x"}\n\ndata: b\n\n');
    expect(framed({ spaceAfterColon: false })).toBe('data:{"type":"x"}\n\ndata:b\n\n');
    expect(framed({ comment: 'hi' })).toBe(': hi\n\ndata: {"type":"x"}\n\n: hi\n\ndata: b\n\n');
    expect(framed({ done: true })).toBe('data: {"type":"x"}\n\ndata: b\n\ndata: [DONE]\n\n');
    expect(framed({ ending: 'line-end' })).toBe('data: {"type":"x"}\n\ndata: b\n');
    expect(framed({ ending: 'nothing' })).toBe('data: {"type":"x"}\n\ndata: b');
    expect(framed({ ending: 'nothing', lineEnding: '\r\n' })).toMatch(/\r\n\r\ndata: b$/);
    expect(framed({ eventNames: 'type' })).toBe('event: x\ndata: {"type":"x"}\n\ndata: b\n\n');
  });

  test('can omit event names', () => {
    const named: SseEvent = { event: 'ping', data: '{}' };
    expect(text(frameSse([named], { eventNames: 'none' }))).toBe('data: {}\n\n');
    expect(text(frameSse([named], { eventNames: 'type' }))).toBe('event: ping\ndata: {}\n\n');
  });

  test('puts each line of the data on its own line', () => {
    expect(text(frameSse(['a\nb\r\nc']))).toBe('data: a\ndata: b\ndata: c\n\n');
  });

  test('is empty without events, or only a byte order mark on request', () => {
    expect(frameSse([])).toEqual(new Uint8Array());
    expect(frameSse([], { byteOrderMark: true })).toEqual(Uint8Array.of(0xef, 0xbb, 0xbf));
  });

  test('is read the same by another parser, with any framing and split', () => {
    const data = fc.json();
    const name = fc.constantFrom('ping', 'error', 'x.y');
    const event = fc.oneof(data, fc.record({ event: name, data }));
    const options = fc.record({
      lineEnding: fc.constantFrom<LineEnding>('\n', '\r\n', '\r', 'mixed'),
      byteOrderMark: fc.boolean(),
      spaceAfterColon: fc.boolean(),
      done: fc.boolean(),
      comment: fc.constantFrom('keep-alive', 'OPENROUTER PROCESSING'),
    });
    fc.assert(
      fc.property(
        fc.array(event, { minLength: 1 }),
        options,
        fc.integer({ min: 1, max: 9 }),
        (events, how, pieceLength) => {
          // The parser accepts a final CR only when no LF can follow.
          const tail = new TextEncoder().encode(':\n');
          const framed = Buffer.concat([frameSse(events, how), tail]);
          const plain = events.map((one) =>
            typeof one === 'string' ? { event: undefined, data: one } : one,
          );
          const done = how.done ? [{ event: undefined, data: '[DONE]' }] : [];
          const read = readBack(framed, pieceLength);
          expect(read.events).toEqual([...plain, ...done]);
          expect(read.comments).toEqual([...[...plain, ...done].map(() => how.comment), '']);
        },
      ),
    );
  });
});

describe('sseFrames', () => {
  test('has one frame per event, and the frames join to the whole', () => {
    const options: SseOptions = { comment: 'c', done: true, byteOrderMark: true };
    const frames = sseFrames(['1', '2'], options);
    expect(frames.map(text)).toEqual([
      '\uFEFF: c\n\ndata: 1\n\n',
      ': c\n\ndata: 2\n\n',
      ': c\n\ndata: [DONE]\n\n',
    ]);
    expect(Buffer.concat([...frames])).toEqual(Buffer.from(frameSse(['1', '2'], options)));
  });
});

const bytes = fc.uint8Array({ maxLength: 40 });

describe('splitAt', () => {
  test('cuts exactly at the offsets, in any order', () => {
    const pieces = splitAt(Uint8Array.of(1, 2, 3, 4, 5), [4, 1]);
    expect(pieces).toEqual([Uint8Array.of(1), Uint8Array.of(2, 3, 4), Uint8Array.of(5)]);
  });

  test('makes no empty piece and loses no byte', () => {
    const split = bytes.chain((all) =>
      fc.tuple(fc.constant(all), fc.array(fc.nat({ max: all.length }))),
    );
    fc.assert(
      fc.property(split, ([all, offsets]) => {
        const pieces = splitAt(all, offsets);
        expect(joinBytes(pieces)).toEqual(all);
        expect(pieces.every((piece) => piece.length > 0)).toBe(true);
        const inner = offsets.filter((offset) => offset > 0 && offset < all.length);
        expect(pieces.length).toBe(all.length === 0 ? 0 : new Set(inner).size + 1);
      }),
    );
  });

  test.each([-1, 3, 0.5, Number.NaN])('rejects the offset %d in two bytes', (offset) => {
    expect(() => splitAt(Uint8Array.of(1, 2), [offset])).toThrow(ScriptedServerError);
  });
});

describe('splitEvery', () => {
  test('makes pieces of equal length, except the last one', () => {
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 50 }), (all, length) => {
        const pieces = splitEvery(all, length);
        expect(joinBytes(pieces)).toEqual(all);
        expect(pieces.slice(0, -1).every((piece) => piece.length === length)).toBe(true);
        expect(pieces.every((piece) => piece.length > 0 && piece.length <= length)).toBe(true);
      }),
    );
  });

  test.each([0, -1, 1.5])('rejects the length %d', (length) => {
    expect(() => splitEvery(Uint8Array.of(1, 2), length)).toThrow('whole number from 1');
  });
});
