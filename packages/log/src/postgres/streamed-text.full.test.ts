import { type DraftRecord, partId } from '@millrace/core';
import { expect, test } from 'vitest';
import { LossyBus } from '../testing/lossy-bus.ts';
import { describeOnPostgres, usePostgres } from '../testing/start-postgres.ts';
import { postgresLog } from './postgres-log.ts';

const text = (at: number): DraftRecord => ({
  ...{ turn: 1, attempt: 1 },
  delta: { type: 'append_text', partId: partId(1, 1, 'p'), at, chunk: 'x' },
});

describeOnPostgres()('21: streamed text of many sessions', () => {
  const postgres = usePostgres();

  test('is committed and published once per transaction, not once per append', async () => {
    const bus = new LossyBus();
    const log = postgresLog({ url: postgres().url, schema: 'streamed', bus });
    const sessions = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const drivers = await Promise.all(sessions.map((session) => log.open(session)));
    const before = { transactions: log.transactions, published: bus.published.length };
    const appends = drivers.flatMap((driver) =>
      Array.from({ length: 100 }, (_, at) => driver.append([text(at)])),
    );
    const batches = await Promise.all(appends);
    expect(batches.reduce((sum, { records }) => sum + records.length, 0)).toBe(2000);
    const transactions = log.transactions - before.transactions;
    expect(transactions).toBeLessThanOrEqual(3);
    const published = bus.published.slice(before.published);
    expect(published.length).toBeLessThanOrEqual(transactions * sessions.length);
    // A bus receives all records, in order.
    for (const session of sessions) {
      const notices = published.filter((notice) => notice.session === session);
      const offsets = notices.flatMap(({ records }) => records.map(({ offset }) => offset));
      expect(offsets).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    }
    await log.close();
  });
});
