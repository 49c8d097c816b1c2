import type { LogRecord, SessionId } from '@millrace/core';
import type { Bus, BusNotice } from '../contract/bus.ts';
import { incarnationText } from '../storage/incarnation.ts';
import { type Awaitable, andThen, type LogReader } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { SessionFeed } from './feed.ts';

/** The feeds of all sessions that have followers. A session without followers has no feed. */
export class FeedRegistry {
  readonly #reader: LogReader;
  readonly #bus: Bus | undefined;
  readonly #feeds = new Map<SessionId, SessionFeed>();
  /** For each feed, the function that ends its subscription to the bus. */
  readonly #unsubscribe = new Map<SessionFeed, () => void>();
  #stopWatching: (() => void) | undefined;

  constructor(reader: LogReader, bus?: Bus) {
    this.#reader = reader;
    this.#bus = bus;
  }

  /** Adds a follower and returns its feed. The follower must call `leave` with the feed at the end. */
  join(row: SessionRow, wake: () => void): Awaitable<SessionFeed> {
    this.#stopWatching ??= this.#reader.watch((sessions) => this.refresh(sessions));
    const feed = this.#feeds.get(row.session);
    if (feed === undefined || feed.isOver) return this.#joinNew(row, wake);
    // The follower joins before the first `await`. Otherwise, the registry could remove the feed in the
    // meantime.
    feed.join(wake);
    return andThen(feed.refresh(), () => {
      if (!feed.isOver) return feed;
      feed.leave(wake);
      return this.#joinNew(row, wake);
    });
  }

  #joinNew(row: SessionRow, wake: () => void): Awaitable<SessionFeed> {
    const known = this.#feeds.get(row.session);
    const feed = known === undefined || known.isOver ? this.#createFeed(row) : known;
    feed.join(wake);
    // Reads the store once, because the watch does not report commits from before its start.
    return andThen(feed.refresh(), () => feed);
  }

  #createFeed(row: SessionRow): SessionFeed {
    const { session } = row;
    const feed = new SessionFeed(row, this.#reader);
    this.#feeds.set(session, feed);
    const listener = {
      notice: (notice: BusNotice) => feed.notice(notice),
      missed: () => void feed.refresh(),
    };
    const stop = this.#bus?.subscribe(session, listener);
    if (stop !== undefined) this.#unsubscribe.set(feed, stop);
    return feed;
  }

  leave(feed: SessionFeed, wake: () => void): void {
    feed.leave(wake);
    if (feed.hasFollowers) return;
    const { session } = feed.row;
    if (this.#feeds.get(session) === feed) this.#feeds.delete(session);
    this.#unsubscribe.get(feed)?.();
    this.#unsubscribe.delete(feed);
    if (this.#feeds.size === 0) this.#unwatch();
  }

  /** The size of the records that are buffered for all followers, in bytes. */
  get bytes(): number {
    return [...this.#feeds.values()].reduce((sum, feed) => sum + feed.bytes, 0);
  }

  /** Adds records that this process committed and publishes them on the bus. */
  push(row: SessionRow, records: readonly LogRecord[]): void {
    this.#feeds.get(row.session)?.push(row, records);
    this.#bus?.publish(noticeOf(row, records));
  }

  /**
   * Clears the feed of a session and publishes the change. It must be called after records were rewritten.
   */
  rewritten(row: SessionRow): void {
    this.#reset(row.session);
    this.#bus?.publish(noticeOf(row, []));
  }

  /**
   * Like `rewritten`, but also removes the copies of the session from the bus. It must be called after content
   * was removed.
   */
  redacted(row: SessionRow): void {
    this.#bus?.forget(row.session);
    this.rewritten(row);
  }

  /** Ends the feed of a session. It must be called after the session was deleted. */
  deleted(session: SessionId): void {
    this.#reset(session);
    this.#bus?.forget(session);
  }

  /** Makes the feeds of these sessions read the store again. Default: all feeds. */
  refresh(sessions?: readonly SessionId[]): void {
    if (sessions === undefined) for (const feed of this.#feeds.values()) void feed.refresh();
    else for (const session of sessions) void this.#feeds.get(session)?.refresh();
  }

  close(): void {
    this.#unwatch();
    for (const feed of this.#feeds.values()) feed.markDeleted();
    for (const stop of this.#unsubscribe.values()) stop();
    this.#unsubscribe.clear();
  }

  #reset(session: SessionId): void {
    const feed = this.#feeds.get(session);
    feed?.reset();
    void feed?.refresh();
  }

  #unwatch(): void {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }
}

function noticeOf(row: SessionRow, records: readonly LogRecord[]): BusNotice {
  const { session, made, rewrites, through, changedAt, isClosed, openWork, queuedCommands } = row;
  const work = { isClosed, openWork, queuedCommands };
  const incarnation = incarnationText(row);
  return { session, made, incarnation, rewrites, through, changedAt, ...work, records };
}
