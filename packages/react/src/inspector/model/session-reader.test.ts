import type { Batch, LogRecord } from '@millrace/core';
import { TestClock } from '@millrace/log/suite';
import { describe, expect, test } from 'vitest';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { numberedRecords } from '../../testing/records.ts';
import { SessionReader, type SessionReaderOptions } from './session-reader.ts';

const all = numberedRecords(recordedRun(3));

/** A log that the test can extend. It is read in pages of ten records. */
function setUp(options: Partial<SessionReaderOptions> = {}, start = all.length) {
  const clock = new TestClock();
  const received: LogRecord[] = [];
  const server = { records: all.slice(0, start), isBroken: false, reads: 0 };
  const read = async (from: number): Promise<Batch> => {
    server.reads++;
    if (server.isBroken) throw new Error('broken');
    const records = server.records.filter(({ offset }) => offset > from).slice(0, 10);
    return { after: from, through: records.at(-1)?.offset ?? from, records };
  };
  const records = new SessionReader({
    ...{ read, clock, onChange: () => {} },
    onRecords: (page) => void received.push(...page),
    onReset: () => void received.splice(0),
    ...options,
  });
  /** Runs pending callbacks without advancing the clock. */
  const settle = async () => {
    for (let round = 0; round < 500; round++) await Promise.resolve();
  };
  return { clock, received, server, records, settle };
}

describe('the records of a session', () => {
  test('are read page by page to their end, each once and in order', async () => {
    const { received, records, settle } = setUp();
    records.start();
    await settle();
    expect(received).toEqual(all);
    expect(records.status).toEqual({ state: 'current' });
  });

  test('are read again when more records are reported, and not before', async () => {
    const { received, server, records, settle } = setUp({}, 20);
    records.start();
    await settle();
    expect(received).toHaveLength(20);
    server.records = all.slice(0, 40);
    const { reads } = server;
    records.setKnownEnd(20);
    await settle();
    expect(server.reads).toBe(reads);
    records.setKnownEnd(40);
    await settle();
    expect(received).toEqual(all.slice(0, 40));
  });

  test('are read at most once per pause while they stream', async () => {
    const { received, clock, server, records, settle } = setUp({}, 0);
    records.start();
    await settle();
    const { reads } = server;
    for (let count = 1; count <= all.length; count++) {
      server.records = all.slice(0, count);
      records.setKnownEnd(count);
      await clock.advance(1);
    }
    await clock.advance(1000);
    expect(received).toEqual(all);
    expect(server.reads - reads).toBeLessThan(all.length);
  });

  test('above the maximum number are not read, and the status says so', async () => {
    const { received, records, settle } = setUp({ maxRecords: 25 });
    records.start();
    await settle();
    expect(received).toEqual(all.slice(0, 20));
    expect(records.status).toEqual({ state: 'full' });
    records.setKnownEnd(1000);
    await settle();
    expect(received).toHaveLength(20);
  });

  test('above the maximum length are not read, and the status says so', async () => {
    const { received, records, settle } = setUp({ maxLength: 4000 });
    records.start();
    await settle();
    expect(records.status).toEqual({ state: 'full' });
    expect(received.length).toBeLessThan(all.length);
    expect(received.length).toBeGreaterThan(0);
  });

  test('report a failure, and reading continues after a retry', async () => {
    const { received, server, records, settle } = setUp();
    server.isBroken = true;
    records.start();
    await settle();
    expect(records.status).toEqual({ state: 'failed', error: new Error('broken') });
    server.isBroken = false;
    records.retry();
    await settle();
    expect(received).toEqual(all);
  });

  test('are read again from the start after a redaction', async () => {
    const { received, server, records, settle } = setUp({}, 30);
    records.start();
    await settle();
    const [last = expect.fail()] = all.slice(29);
    const { delta: _, ...head } = last;
    const fact = { type: 'item_redacted', itemId: 'item-1' } as const;
    const redacted = { ...head, offset: 31, fact } as unknown as LogRecord;
    server.records = [
      ...all.slice(0, 30).map((record) => ({ ...record, producer: 'clean' })),
      redacted,
    ];
    records.setKnownEnd(31);
    await settle();
    expect(received).toEqual(server.records);
  });

  test('are not read any more after stop', async () => {
    const { received, records, settle } = setUp();
    records.start();
    records.stop();
    await settle();
    expect(received).toEqual([]);
  });
});
