import { expect, test, vi } from 'vitest';
import { startTestServer } from '../testing/servers/test-server.ts';
import { documentRoutes } from './server.ts';

// Any client can request the documents without a token. 5,000 requests on 20 connections kept the server busy
// for 10 s, because each request serialized the document again.

test.for(['/openapi.json', '/docs', '/docs.css'])(
  'attack: %s is created once, however often it is requested without a token',
  async (path) => {
    await using server = await startTestServer({ operators: ['a'] });
    const first = await server.request(path);
    const stringify = vi.spyOn(JSON, 'stringify');
    const join = vi.spyOn(Buffer, 'from');
    try {
      for (let left = 3; left > 0; left--) {
        const next = await server.request(path);
        expect([next.status, next.text]).toEqual([200, first.text]);
      }
      const sizes = [...stringify.mock.results, ...join.mock.results].map(({ value }) =>
        value === undefined ? 0 : String(value).length,
      );
      expect(Math.max(0, ...sizes)).toBeLessThan(500);
    } finally {
      stringify.mockRestore();
      join.mockRestore();
    }
  },
);

test.each(['', 'gzip', 'br'])('replies of a document share one buffer: "%s"', async (accepted) => {
  const context = { headers: { 'accept-encoding': accepted } } as never;
  const [openApi] = documentRoutes([]);
  const ends: unknown[] = [];
  const response = { writeHead: () => {}, end: (bytes: unknown) => ends.push(bytes) };
  for (let left = 2; left > 0; left--) {
    const reply = await openApi?.handle({ params: {}, query: {}, body: {} }, context);
    await (reply as { write(to: unknown): Promise<void> }).write(response);
  }
  expect(ends).toHaveLength(2);
  expect(ends[0]).toBeInstanceOf(Buffer);
  expect(ends[0]).toBe(ends[1]);
});
