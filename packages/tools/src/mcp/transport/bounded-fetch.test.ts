import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundedFetch } from './bounded-fetch.ts';

/** Reads a response body that arrives in these chunks. */
async function readAll(chunks: readonly string[], type: string, maxBytes: number): Promise<string> {
  const body = ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)));
  const headers = { 'content-type': type };
  const fetch = boundedFetch(
    async () => new Response(body, { headers }),
    maxBytes,
    () => true,
  );
  return (await fetch('http://x')).text();
}

const pieces = (text: string, cuts: readonly number[]) => {
  const at = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  return at.slice(1).map((to, index) => text.slice(at[index], to));
};

test('a body is read or refused depending only on its length', async () => {
  const given = [
    fc.string({ unit: fc.constantFrom('a', '\n') }),
    fc.nat(20),
    fc.array(fc.nat()),
  ] as const;
  await fc.assert(
    fc.asyncProperty(...given, async (text, limit, cuts) => {
      const reading = readAll(pieces(text, cuts), 'application/json', limit);
      if (text.length > limit) await expect(reading).rejects.toThrow(`more than ${limit} bytes`);
      else expect(await reading).toBe(text);
    }),
  );
});

test('if the caller does not read events, all events of a stream count together', async () => {
  const body = ReadableStream.from(Array.from({ length: 9 }, () => Buffer.from('data: a\n\n')));
  const headers = { 'content-type': 'text/event-stream' };
  const fetch = boundedFetch(async () => new Response(body, { headers }), 50);
  await expect((await fetch('http://x')).text()).rejects.toThrow('bytes');
});

test('in a stream, the longest event counts, for any chunks', async () => {
  const lines = fc.array(fc.constantFrom('data: a', 'data: aaaaaa', ':', 'id: 1', ''), {
    maxLength: 20,
  });
  const end = fc.constantFrom('\n', '\r\n', '\r');
  const given = [lines, end, fc.integer({ min: 1, max: 40 }), fc.array(fc.nat())] as const;
  await fc.assert(
    fc.asyncProperty(...given, async (said, lineEnd, limit, cuts) => {
      const text = said.map((line) => line + lineEnd).join('');
      const reading = readAll(pieces(text, cuts), 'text/event-stream; charset=utf-8', limit);
      if (longestOf(said, lineEnd.length) > limit) await expect(reading).rejects.toThrow('bytes');
      else expect(await reading).toBe(text);
    }),
  );
});

/**
 * Computes the longest event from lines. An event contains everything between two empty lines, including the
 * second one.
 */
function longestOf(lines: readonly string[], endLength: number): number {
  let [length, longest] = [0, 0];
  for (const line of lines) {
    length += line.length + 1;
    longest = Math.max(longest, length);
    if (line === '') length = 0;
    // The second byte of a two-byte line ending counts for the next event.
    length += endLength - 1;
    longest = Math.max(longest, length);
  }
  return longest;
}

test('a response without content is passed on unchanged', async () => {
  const redirect = Response.redirect('http://y');
  expect(await boundedFetch(async () => redirect, 1)('http://x')).toBe(redirect);
  const nothing = new Response(null, { status: 202 });
  expect(await boundedFetch(async () => nothing, 1)('http://x')).toBe(nothing);
});

test('a refused body is not read further', async () => {
  let given = 0;
  const endless = new ReadableStream({
    pull: (controller) => {
      given++;
      controller.enqueue(new Uint8Array(100));
    },
  });
  const fetch = boundedFetch(async () => new Response(endless), 1_000);
  await expect((await fetch('http://x')).text()).rejects.toThrow('more than 1000 bytes');
  expect(given).toBeLessThan(20);
});
