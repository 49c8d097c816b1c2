import { type LogRecord, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { numberRecords } from '../engine/append-records.ts';
import type { LogReader } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { newSession } from '../storage/session-row.ts';
import { markers } from '../suite/drafts.ts';
import { eventLoopSettled, TestClock } from '../suite/test-clock.ts';
import { SessionFeed } from './feed.ts';
import { FeedIterator } from './feed-iterator.ts';
import { FeedRegistry } from './feeds.ts';

const session = sessionId('s');
const rowAt = (through: number): SessionRow => ({
  ...newSession(session, { made: 1, incarnation: 1 }, 0),
  through,
});
const recordsAfter = (after: number, count: number): readonly LogRecord[] =>
  numberRecords({ through: after }, markers(count), 'somebody', 0);

/** An asynchronous store that answers when the test tells it to. */
class SlowReader implements LogReader {
  readonly rows: PromiseWithResolvers<SessionRow | undefined>[] = [];
  readonly pages: PromiseWithResolvers<readonly LogRecord[]>[] = [];

  session(): Promise<SessionRow | undefined> {
    const answer = Promise.withResolvers<SessionRow | undefined>();
    this.rows.push(answer);
    return answer.promise;
  }

  records(): Promise<readonly LogRecord[]> {
    const answer = Promise.withResolvers<readonly LogRecord[]>();
    this.pages.push(answer);
    return answer.promise;
  }

  sessions = () => [];
  blob = () => undefined;
  blobSlice = () => undefined;
  watch = () => () => {};
  close(): void {}
}

test('an older answer of the store does not undo a local commit', async () => {
  const reader = new SlowReader();
  const feed = new SessionFeed(rowAt(1), reader);
  const looked = feed.refresh();
  feed.push(rowAt(3), recordsAfter(1, 2));
  reader.rows[0]?.resolve(rowAt(1));
  await looked;
  expect(feed.row.through).toBe(3);
  expect(feed.batchAfter(1)).toMatchObject({ after: 1, through: 3 });
});

test('refreshes during a running one are combined into one that follows it', async () => {
  const reader = new SlowReader();
  const feed = new SessionFeed(rowAt(1), reader);
  const first = feed.refresh();
  const others = [feed.refresh(), feed.refresh()];
  reader.rows[0]?.resolve(rowAt(2));
  await eventLoopSettled();
  expect(reader.rows).toHaveLength(2);
  reader.rows[1]?.resolve(rowAt(5));
  await Promise.all([first, ...others]);
  expect(feed.row.through).toBe(5);
  expect(reader.rows).toHaveLength(2);
});

test('followers at the same cursor share one query', async () => {
  const reader = new SlowReader();
  const feed = new SessionFeed(rowAt(4), reader);
  const asked = [feed.batchAfter(0), feed.batchAfter(0), feed.batchAfter(0)];
  expect(reader.pages).toHaveLength(1);
  reader.pages[0]?.resolve(recordsAfter(0, 4));
  await eventLoopSettled();
  reader.rows[0]?.resolve(rowAt(4));
  const [one, ...others] = await Promise.all(asked);
  expect(one).toMatchObject({ after: 0, through: 4 });
  for (const other of others) expect(other).toBe(one);
});

test('removed last records neither block followers nor make them skip new records', async () => {
  const reader = new SlowReader();
  const feed = new SessionFeed(rowAt(4), reader);
  const asked = feed.batchAfter(2);
  feed.push(rowAt(6), recordsAfter(4, 2));
  reader.pages[0]?.resolve([]);
  await eventLoopSettled();
  reader.rows[0]?.resolve(rowAt(6));
  expect(await asked).toEqual({ after: 2, through: 4, records: [] });
});

function follow(reader: LogReader) {
  const feeds = new FeedRegistry(reader);
  let isClosed = false;
  const source = {
    join: (wake: () => void) => feeds.join(rowAt(3), wake),
    leave: (feed: SessionFeed, wake: () => void) => feeds.leave(feed, wake),
    isClosed: () => isClosed,
    clock: new TestClock(),
  };
  const close = () => {
    isClosed = true;
  };
  return { batches: new FeedIterator({}, source), feeds, close };
}

test('a follower that stops during a query ends immediately and returns its feed', async () => {
  const reader = new SlowReader();
  const { batches, feeds } = follow(reader);
  const joining = batches.next();
  await batches.return();
  expect(await joining).toEqual({ done: true, value: undefined });
  reader.rows[0]?.resolve(rowAt(3));
  await eventLoopSettled();
  // A feed without followers receives nothing.
  feeds.push(rowAt(4), recordsAfter(3, 1));
  expect(feeds.bytes).toBe(0);
});

test('closing the store during a query ends the iteration; any other error is thrown', async () => {
  for (const isClosing of [true, false]) {
    const reader = new SlowReader();
    const { batches, close } = follow(reader);
    const next = batches.next();
    reader.rows[0]?.resolve(rowAt(3));
    await eventLoopSettled();
    if (isClosing) close();
    reader.pages[0]?.reject(new RangeError('no answer'));
    if (isClosing) expect(await next).toEqual({ done: true, value: undefined });
    else await expect(next).rejects.toThrow('no answer');
    expect(await batches.next()).toEqual({ done: true, value: undefined });
  }
});
