import type { SessionId } from '@millrace/core';
import { type Clock, type Log, LogError, systemClock } from '@millrace/log';
import { ServerError } from '../contract/server-error.ts';
import type { FrameView, ViewName } from '../contract/stream.ts';
import { shareOf } from '../http/access/fair-share.ts';
import type { Channel, Subscriber } from './channel.ts';
import type { Views } from './frames/views.ts';
import { type FeedEnd, SessionFeed } from './session-feed.ts';
import { defaultStreamLimits, type StreamLimits } from './stream-limits.ts';

interface FeedRegistryOptions {
  readonly log: Log;
  readonly views: Views;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<StreamLimits> | undefined;
}

/** Current resource usage of all streams. */
interface StreamStats {
  readonly tasks: number;
  readonly viewers: number;
  /** The size of the frames that are kept in memory for reconnecting clients. */
  readonly keptBytes: number;
  /** The number of bytes that wait in connections to be sent. */
  readonly bufferedBytes: number;
}

/** A feed and the channel of one view. */
export interface FeedSubscription {
  readonly feed: SessionFeed;
  readonly channel: Channel;
}

/** The feeds of all tasks that have viewers, one per task. */
export class FeedRegistry {
  readonly log: Log;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly #views: Views;
  readonly #feeds = new Map<SessionId, Promise<SessionFeed>>();
  /** The open feeds, and finished feeds that still have viewers. */
  readonly #open = new Set<SessionFeed>();
  /** The callers without full access that caused feeds. */
  readonly #causes = new Map<Promise<SessionFeed>, string>();
  #viewers = 0;
  #isClosed = false;

  constructor({ log, views, clock = systemClock, limits = {} }: FeedRegistryOptions) {
    this.log = log;
    this.clock = clock;
    this.limits = { ...defaultStreamLimits, ...limits };
    this.#views = views;
  }

  get stats(): StreamStats {
    const feeds = [...this.#open];
    const viewers = feeds.flatMap((feed) => [...subscribers(feed)]);
    return {
      tasks: feeds.length,
      viewers: viewers.length,
      keptBytes: feeds.reduce((sum, { keptBytes }) => sum + keptBytes, 0),
      bufferedBytes: viewers.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0),
    };
  }

  view(name: ViewName): FrameView {
    const view = this.#views[name];
    if (view !== undefined) return view;
    const known = Object.keys(this.#views).join(', ');
    throw new ServerError('bad_request', `Unknown view. Use one of: ${known}`);
  }

  /** Adds a viewer. The caller must call `leave` when the viewer disconnects. */
  async join(
    session: SessionId,
    view: FrameView,
    restricted?: string | undefined,
  ): Promise<FeedSubscription> {
    if (this.#isClosed) throw serverClosing();
    if (this.#viewers >= this.limits.maxViewers)
      throw tooManyStreams('viewers', this.limits.maxViewers);
    this.#viewers++;
    try {
      const feed = await this.#feedOf(session, restricted);
      const channel = await feed.join(view);
      if (this.#isClosed) throw serverClosing();
      return { feed, channel };
    } catch (error) {
      this.#viewers--;
      throw joinError(session, error);
    }
  }

  leave({ feed, channel }: FeedSubscription): void {
    this.#viewers--;
    feed.leave(channel);
  }

  /** Disconnects all viewers with a hint to reconnect. */
  close(): void {
    this.#isClosed = true;
    for (const feed of this.#open) {
      for (const subscriber of [...subscribers(feed)]) subscriber.disconnect('closing');
      feed.close();
    }
    this.#open.clear();
    this.#feeds.clear();
    this.#causes.clear();
  }

  #feedOf(session: SessionId, restricted: string | undefined): Promise<SessionFeed> {
    const known = this.#feeds.get(session);
    if (known !== undefined) return known;
    if (this.#feeds.size >= this.limits.maxTasks)
      throw tooManyStreams('tasks', this.limits.maxTasks);
    const share = shareOf(this.limits.maxTasks);
    const caused = [...this.#causes.values()].filter((one) => one === restricted).length;
    if (restricted !== undefined && caused >= share)
      throw tooManyStreams('tasks of one client', share);
    const { log, clock, limits } = this;
    const onIdle = (feed: SessionFeed) => this.#drop(feed, opened);
    const onEnd = (feed: SessionFeed, end: FeedEnd) => this.#end(feed, end, opened);
    const opened = SessionFeed.open(session, { log, clock, limits, onIdle, onEnd });
    this.#feeds.set(session, opened);
    if (restricted !== undefined) this.#causes.set(opened, restricted);
    opened.then(
      (feed) => {
        if (this.#isClosed) feed.close();
        else this.#open.add(feed);
      },
      () => this.#forget(session, opened),
    );
    return opened;
  }

  #drop(feed: SessionFeed, opened: Promise<SessionFeed>): void {
    this.#forget(feed.session, opened);
    this.#open.delete(feed);
    feed.close();
  }

  #end(feed: SessionFeed, end: FeedEnd, opened: Promise<SessionFeed>): void {
    // The feed of a closed session is kept, because the session cannot change. A deleted session could be
    // created again, so its feed is removed.
    if (end !== 'closed') this.#forget(feed.session, opened);
    for (const subscriber of [...subscribers(feed)]) {
      if (end === 'failed') subscriber.disconnect('failed');
      else subscriber.resume();
    }
  }

  #forget(session: SessionId, opened: Promise<SessionFeed>): void {
    this.#causes.delete(opened);
    if (this.#feeds.get(session) === opened) this.#feeds.delete(session);
  }
}

function* subscribers(feed: SessionFeed): Iterable<Subscriber> {
  for (const channel of feed.channels) yield* channel.subscribers();
}

function serverClosing(): ServerError {
  return new ServerError('unavailable', 'The server is closing: connect again in a moment');
}

function tooManyStreams(
  what: 'tasks' | 'tasks of one client' | 'viewers',
  limit: number,
): ServerError {
  const message = `The server has reached its limit of ${limit} streamed ${what}: connect again later`;
  return new ServerError('unavailable', message, { limit });
}

function joinError(session: SessionId, error: unknown): unknown {
  if (!(error instanceof LogError) || error.code !== 'no_session') return error;
  const message = `Task ${session} has no log: it has no messages yet, or it was deleted`;
  return new ServerError('not_found', message, { session }, { cause: error });
}
