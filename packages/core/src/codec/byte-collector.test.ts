import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../testing/runs.ts';
import { ByteCollector } from './byte-collector.ts';

test('18.742: ByteCollector returns the bytes of all chunks in their order', () => {
  const sizes = fc.oneof(fc.nat(10), fc.nat(3000), fc.nat(200_000));
  fc.assert(
    fc.property(fc.array(sizes, { maxLength: 30 }), (lengths) => {
      const collector = new ByteCollector();
      const chunks = lengths.map((length, at) => new Uint8Array(length).fill(at));
      for (const chunk of chunks) collector.add(chunk);
      const bytes = collector.toBytes();
      expect(collector.length).toBe(bytes.length);
      expect(Buffer.compare(bytes, Buffer.concat(chunks))).toBe(0);
    }),
    { numRuns: runs(50) },
  );
});

test('18.742: attack: a body in chunks of one byte keeps each chunk in memory', () => {
  const collector = new ByteCollector();
  // If the collector kept the chunks, all of them would have the last value.
  const chunk = new Uint8Array(1);
  for (let at = 0; at < 100_000; at++) {
    chunk[0] = at;
    collector.add(chunk);
  }
  expect(collector.toBytes()).toEqual(Uint8Array.from({ length: 100_000 }, (_, at) => at));
});
