import { decodeEvent, decodeRecord } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { LogBuilder, notifyAll, observedRecords } from '../testing/log-builder.ts';
import { jsonlObserver } from './jsonl-observer.ts';

const logs = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 200, size: 'max' }).map(randomLog);

test('each record is one line, and decodes to the same record', () => {
  fc.assert(
    fc.property(logs, (records) => {
      const lines: string[] = [];
      notifyAll(
        jsonlObserver((line) => lines.push(line)),
        observedRecords(records),
      );
      expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
      expect(lines.map((line) => decodeRecord(line))).toEqual(records);
    }),
    { numRuns: runs(100) },
  );
});

test('each event is one line with as: events', () => {
  fc.assert(
    fc.property(logs, (records) => {
      const lines: string[] = [];
      const told = observedRecords(records);
      notifyAll(
        jsonlObserver((line) => lines.push(line), { as: 'events' }),
        told,
      );
      expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
      expect(lines.map((line) => decodeEvent(line))).toEqual(told.flatMap(({ events }) => events));
    }),
    { numRuns: runs(100) },
  );
});

test('text with any kind of line break stays on one line', () => {
  const story = new LogBuilder().at(1, 1);
  const writer = story.request();
  const text = writer.text();
  text.append('a\nb\r\nc\u2028d');
  text.commit();
  const lines: string[] = [];
  const written = story.take(writer);
  notifyAll(
    jsonlObserver((line) => lines.push(line)),
    written.observed,
  );
  expect(lines.join('').split('\n')).toHaveLength(written.records.length + 1);
});
