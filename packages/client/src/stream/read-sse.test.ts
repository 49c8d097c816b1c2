import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientError } from '../contract/client-error.ts';
import { readSse } from './read-sse.ts';

type Event = readonly unknown[];

/** Returns the events that the reader reports if the text arrives in these pieces. */
async function readAll(texts: readonly string[]): Promise<readonly Event[]> {
  const events: Event[] = [];
  const bytes = texts.map((text) => new TextEncoder().encode(text));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = bytes.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
  await readSse(body, {
    signal: new AbortController().signal,
    onMessage: ({ id, event, data }) => events.push(['message', id, event, data]),
    onRetry: (ms) => events.push(['retry', ms]),
    onData: (isComment) => isComment && events.push(['comment']),
    onPause: async () => true,
    toLost: (cause) => new ClientError('bad_answer', String(cause)),
  });
  return events;
}

/** Parses the text with a different implementation of the specification. */
function expectedEvents(text: string): readonly Event[] {
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push(['message', id, event, data]),
    onRetry: (ms) => events.push(['retry', ms]),
    onComment: () => events.push(['comment']),
  });
  parser.feed(text);
  return events;
}

const line = fc.tuple(
  fc.constantFrom('data', 'event', 'id', 'retry', '', 'other'),
  fc.constantFrom('', ':', ': ', ':  '),
  fc.string({ unit: fc.constantFrom('a', 'é', ':', ' ', '1'), maxLength: 4 }),
);
const end = fc.constantFrom('\n', '\r', '\r\n');
const stream = fc
  .array(fc.tuple(fc.oneof(line, fc.constant([''])), end), { maxLength: 20 })
  .map((lines) => `${lines.map(([parts, last]) => parts.join('') + last).join('')}\n`);

test('events are those of another reader, however the text is cut', () =>
  fc.assert(
    fc.asyncProperty(stream, fc.nat(), async (text, cut) => {
      const expected = expectedEvents(text);
      const at = cut % (text.length + 1);
      expect(await readAll([text])).toEqual(expected);
      expect(await readAll([text.slice(0, at), text.slice(at)])).toEqual(expected);
      expect(await readAll([...text])).toEqual(expected);
    }),
  ));
