import { type DraftRecord, partId } from '@millrace/core';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
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

  test('needs few statements, also if each session reads it separately', async () => {
    const log = postgresLog({ url: postgres().url, schema: 'looked' });
    const sessions = Array.from({ length: 100 }, (_, index) => `s${index}`);
    await Promise.all(sessions.map((session) => log.submit(session, { type: 'abort' }, 'k')));
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    // Each call is in a task of its own, as the timers of runs are.
    const infos = await Promise.all(
      sessions.map(async (session) => {
        await new Promise((resolve) => setImmediate(resolve));
        return log.info(session);
      }),
    );
    const statements = sent.mock.calls.length;
    sent.mockRestore();
    expect(infos.map((info) => info?.session)).toEqual(sessions);
    expect(infos.every((info) => info?.through === 1)).toBe(true);
    expect(statements).toBeLessThanOrEqual(3);
    await log.close();
  });

  test('is found by a read that waits for the queries of others', async () => {
    const log = postgresLog({ url: postgres().url, schema: 'found' });
    const driver = await log.open('s');
    for (let at = 0; at < 50; at++) {
      const others = Array.from({ length: 5 }, () =>
        new Promise(setImmediate).then(() => log.info('s')),
      );
      await new Promise(setImmediate);
      const { through } = await driver.append([text(at)]);
      expect((await log.info('s'))?.through).toBe(through);
      await Promise.all(others);
    }
    await log.close();
  });
});
