import { encodeRecord, type LogRecord } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { newChain } from '../chain/link.ts';
import { sealBatch } from '../chain/seal.ts';
import { encodeChunks } from './chunk-codec.ts';
import { encodeLine, encodeUnlinked } from './record-line.ts';

const aborted = { type: 'aborted' } as const;
const head = { v: 1, offset: 1, time: 1000, turn: 0, attempt: 0, producer: 'test' } as const;

test('25.6: a store writes the same text with and without the lines that a chain has encoded', () => {
  const numbers = fc.array(fc.nat(0xffff), { maxLength: 60, size: 'max' });
  fc.assert(
    fc.property(numbers, fc.nat(8), (given, more) => {
      const all = randomLog(given);
      let chain = newChain(0);
      for (let at = 0; at < all.length; at += 1 + more) {
        const sealed = sealBatch(chain, all.slice(at, at + 1 + more));
        chain = sealed.chain;
        // The copies are other objects, so the store cannot find their lines.
        const copies = structuredClone(sealed.records);
        expect(encodeChunks(sealed.records)).toEqual(encodeChunks(copies));
      }
    }),
    { numRuns: runs(200) },
  );
});

test.each([
  ['offset', { ...head, offset: 2, fact: aborted }],
  ['time', { ...head, time: 2000, fact: aborted }],
  ['producer', { ...head, producer: 'another', fact: aborted }],
  ['links', { ...head, fact: aborted, links: ['a "quoted" link'] }],
])('25.6: a record with the same fact and another %s gets its own line', (_name, record) => {
  const first: LogRecord = { ...head, fact: aborted };
  expect(encodeUnlinked(first)).toBe(encodeRecord(first));
  expect(encodeLine(record)).toBe(encodeRecord(record));
  expect(encodeLine(record)).toBe(encodeRecord(record));
});

test('25.6: a long record is encoded, and no line of it is kept', () => {
  const fact = { type: 'handed_off', to: 'x'.repeat(300_000) } as const;
  const long: LogRecord = { ...head, fact };
  expect(encodeUnlinked(long)).toBe(encodeRecord(long));
  expect(encodeLine(long)).toBe(encodeRecord(long));
});
