import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { Feed } from './feed.ts';

/** The feeds of the sessions that somebody follows; one that nobody does costs nothing. */
export class Feeds {
  readonly #shelf: Shelf;
  readonly #feeds = new Map<SessionId, Feed>();
  #stopWatching: (() => void) | undefined;

  constructor(shelf: Shelf) {
    this.#shelf = shelf;
  }

  /** For one more follower, who has to give it back. */
  join(row: SessionRow, wake: () => void): Feed {
    this.#stopWatching ??= this.#shelf.watch(() => this.refresh());
    let feed = this.#feeds.get(row.session);
    feed?.refresh();
    if (feed === undefined || feed.isOver) {
      feed = new Feed(row, this.#shelf);
      this.#feeds.set(row.session, feed);
      // Of what was committed before the watch began, nobody tells.
      feed.refresh();
    }
    feed.join(wake);
    return feed;
  }

  leave(feed: Feed, wake: () => void): void {
    feed.leave(wake);
    if (feed.hasFollowers) return;
    const { session } = feed.row;
    if (this.#feeds.get(session) === feed) this.#feeds.delete(session);
    if (this.#feeds.size === 0) this.#unwatch();
  }

  /** How much is held for followers, of all sessions. */
  get bytes(): number {
    return [...this.#feeds.values()].reduce((sum, feed) => sum + feed.bytes, 0);
  }

  push(row: SessionRow, records: readonly LogRecord[]): void {
    this.#feeds.get(row.session)?.push(row, records);
  }

  /** Records of the session were rewritten. */
  reset(session: SessionId): void {
    const feed = this.#feeds.get(session);
    feed?.reset();
    feed?.refresh();
  }

  refresh(): void {
    for (const feed of this.#feeds.values()) feed.refresh();
  }

  close(): void {
    this.#unwatch();
    for (const feed of this.#feeds.values()) feed.forget();
  }

  #unwatch(): void {
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }
}
