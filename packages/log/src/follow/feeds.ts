import type { LogRecord, SessionId } from '@millrace/core';
import type { Bus, BusNotice } from '../contract/bus.ts';
import { type Awaitable, andThen, type LogReader } from '../storage/record-store.ts';
import type { SessionRow } from '../storage/rows.ts';
import { SessionFeed } from './feed.ts';

/** The feeds of the sessions that somebody follows; one that nobody does costs nothing. */
export class FeedRegistry {
  readonly #reader: LogReader;
  readonly #bus: Bus | undefined;
  readonly #feeds = new Map<SessionId, SessionFeed>();
  /** How each feed stops hearing from the bus. */
  readonly #unsubscribe = new Map<SessionFeed, () => void>();
  #stopWatching: (() => void) | undefined;

  constructor(reader: LogReader, bus?: Bus) {
    this.#reader = reader;
    this.#bus = bus;
  }

  /** For one more follower, who has to give it back. */
  join(row: SessionRow, wake: () => void): Awaitable<SessionFeed> {
    this.#stopWatching ??= this.#reader.watch((sessions) => this.refresh(sessions));
    const feed = this.#feeds.get(row.session);
    if (feed === undefined || feed.isOver) return this.#joinNew(row, wake);
    // Before anything is waited for, or it might be let go of meanwhile.
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
    // Of what was committed before the watch began, nobody tells.
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

  /** How much is held for followers, of all sessions. */
  get bytes(): number {
    return [...this.#feeds.values()].reduce((sum, feed) => sum + feed.bytes, 0);
  }

  /** What was committed here. */
  push(row: SessionRow, records: readonly LogRecord[]): void {
    this.#feeds.get(row.session)?.push(row, records);
    this.#bus?.publish(noticeOf(row, records));
  }

  /** Records of the session were rewritten. */
  rewritten(row: SessionRow): void {
    this.#reset(row.session);
    this.#bus?.publish(noticeOf(row, []));
  }

  /** The session was deleted. */
  deleted(session: SessionId): void {
    this.#reset(session);
    this.#bus?.forget(session);
  }

  /** Those, or all of them. */
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
  return { session, made, rewrites, through, changedAt, ...work, records };
}
