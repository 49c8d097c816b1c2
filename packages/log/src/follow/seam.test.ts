import { sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { LocalLog } from '../engine/local-log.ts';
import { MemoryStore } from '../memory/memory-log.ts';

const session = sessionId('s');

/** A store on which a write happens exactly when a watcher starts. */
class BusyShelf extends MemoryStore {
  onWatch: () => void = () => {};

  override watch(): () => void {
    this.onWatch();
    return () => {};
  }
}

test('a commit of another process during the start of a follower is received without a notification', async () => {
  const store = new BusyShelf();
  const [here, there] = [new LocalLog(store), new LocalLog(store, { commitIntervalMs: 0 })];
  await there.submit(session, {}, 'before');
  store.onWatch = () => {
    there.submit(session, {}, 'meanwhile').catch(() => {});
  };
  for await (const { records } of here.follow(session, { from: 1 })) {
    expect(records.map(({ fact }) => fact)).toMatchObject([{ key: 'meanwhile' }]);
    break;
  }
});

test('records of another process before an empty append are not skipped', async () => {
  const store = new MemoryStore();
  const [here, there] = [new LocalLog(store), new LocalLog(store, { commitIntervalMs: 0 })];
  const driver = await here.open(session);
  const batches = here.follow(session)[Symbol.asyncIterator]();
  const received = batches.next();
  await there.submit(session, {}, 'elsewhere');
  await driver.append([]);
  const { value } = await received;
  expect(value.records).toMatchObject([{ fact: { key: 'elsewhere' } }]);
  await batches.return?.(undefined);
  await driver.release();
});
