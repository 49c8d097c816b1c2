import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Batch, LogRecord, SessionId } from '@millrace/core';
import { type Clock, findRunEnd, type Log, LogError } from '@millrace/log';
import type { FrameView, ViewName } from '../contract/stream.ts';
import { CallerTurns } from '../http/replies/caller-turns.ts';
import { loadRecentState } from '../journal/local-journal.ts';
import { Channel } from './channel.ts';
import { isExact, mergeAdjacent, readExact } from './exact-batch.ts';
import { type Cursor, idEndOf } from './frames/cursor.ts';
import { encodeChunk, type FrameChunk } from './frames/frame-chunk.ts';
import { foldWhole, History } from './history.ts';
import { PastStates } from './past-states.ts';
import { isInFinishedTurn, type ReplaySource, replayLog, replaySettled } from './replay.ts';
import { ReplayCache } from './replay-cache.ts';
import { changesOldItem } from './run-folder.ts';
import { SettledPages } from './settled-pages.ts';
import type { StreamLimits } from './stream-limits.ts';

/**
 * Maximum number of records to collect. If more records are pending, the feed publishes them before the merge
 * window ends.
 */
const maxPending = 4096;

/** The feed publishes this many records at once, and checks the time before it publishes more. */
const recordsPerStep = 64;
/** After this time, the feed publishes the other pending records in a later turn of the event loop. */
const turnMs = 10;

/** A viewer that reads the recent records first gets at least this many. They usually fill a screen. */
const recentRecords = 256;
/** If the start of a recent run is more records away, the viewer reads the session from its start. */
const maxRecentRecords = 32 * recentRecords;

/** The reason why a feed ended. */
export type FeedEnd = 'closed' | 'deleted' | 'failed';

interface FeedOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  /** Called when no viewer has been connected for `lingerMs`. */
  readonly onIdle: (feed: SessionFeed) => void;
  /** Called when the feed has ended. */
  readonly onEnd: (feed: SessionFeed, end: FeedEnd) => void;
}

/**
 * The only reader of a session in this process. It serves any number of viewers. It follows the log, folds
 * the records, and publishes them to the channel of each view that has viewers.
 */
export class SessionFeed {
  readonly session: SessionId;
  /** The incarnation of the session. After a rewind, a new feed replaces this one. */
  readonly incarnation: string;
  readonly #options: FeedOptions;
  readonly #channels = new Map<ViewName, Channel>();
  readonly #lingerTimers = new Map<ViewName, () => void>();
  readonly #stop = new AbortController();
  readonly #replays: ReplayCache;
  readonly #states: PastStates;
  readonly #pages: SettledPages;
  #history: History;
  /** The offset at which a run ended. Viewers that read the recent records first start after this offset. */
  #recentStart: number | undefined;
  /** Committed records that the feed has not published yet. They follow the records in the history. */
  #pending: LogRecord[] = [];
  #pendingThrough = 0;
  #stopWindow: (() => void) | undefined;
  /** True while pending records wait for the next turn of the event loop. */
  #hasNextTurn = false;
  #reload: Promise<void> | undefined;
  #end: FeedEnd | undefined;

  private constructor(history: History, incarnation: string, options: FeedOptions) {
    this.incarnation = incarnation;
    this.session = history.state.session;
    this.#history = history;
    this.#options = options;
    this.#replays = new ReplayCache(options.limits.replayBytes, options.clock);
    const source = { log: options.log, session: this.session, incarnation };
    this.#states = new PastStates(source);
    this.#pages = new SettledPages(source, this.#states);
  }

  /**
   * Loads the recent state of the session. This takes the same time for long and short sessions. Throws
   * `no_session` if the session does not exist.
   */
  static async open(session: SessionId, options: FeedOptions): Promise<SessionFeed> {
    const { state, incarnation } = await loadRecentState(options.log, session);
    const feed = new SessionFeed(new History(state), incarnation, options);
    void feed.#follow();
    return feed;
  }

  /** The published part of the session. */
  get history(): History {
    return this.#history;
  }

  /** The reason why the feed ended. Undefined while the feed is open. */
  get end(): FeedEnd | undefined {
    return this.#end;
  }

  get viewers(): number {
    return [...this.#channels.values()].reduce((sum, { viewers }) => sum + viewers, 0);
  }

  get channels(): Iterable<Channel> {
    return this.#channels.values();
  }

  /** The size of recent frames and cached replays in memory, in bytes. */
  get keptBytes(): number {
    const rings = [...this.#channels.values()].reduce((sum, { ringBytes }) => sum + ringBytes, 0);
    return rings + this.#replays.bytes;
  }

  /** Adds a viewer and returns the channel of its view. The viewer must call `leave` when it disconnects. */
  async join(view: FrameView): Promise<Channel> {
    await this.#reload;
    const { limits, clock } = this.#options;
    const known = this.#channels.get(view.name);
    const { through } = this.#history.state;
    const start = { through, incarnation: this.incarnation };
    const channel = known ?? new Channel(view, start, limits, clock);
    this.#channels.set(view.name, channel);
    this.#lingerTimers.get(view.name)?.();
    this.#lingerTimers.delete(view.name);
    return channel;
  }

  /** Removes a viewer that has disconnected. The feed closes a view without viewers after a delay. */
  leave({ view, viewers }: Channel): void {
    if (viewers > 0 || this.#lingerTimers.has(view.name)) return;
    const { clock, limits } = this.#options;
    const clearRing = () => this.#closeChannel(view.name);
    this.#lingerTimers.set(view.name, clock.after(limits.lingerMs, clearRing, { isIdle: true }));
  }

  /** Returns the frames after a cursor that is too old for the frames in memory. `caller` names the client. */
  async replay(
    { view }: Channel,
    cursor: Cursor,
    isSettled: boolean,
    caller: string,
  ): Promise<FrameChunk | undefined> {
    await this.#reload;
    const { through } = this.#history.state;
    if (cursor.offset > through) return undefined;
    if (isSettled && !view.settles) return this.#restate(view, caller);
    if (isSettled) {
      const range = { after: cursor.offset, through };
      return this.#replays.get(
        `${view.name} settled ${cursor.offset} ${through}`,
        caller,
        (turns) => replaySettled(this.#source, view, range, turns),
      );
    }
    const channel = this.#channels.get(view.name);
    const entry = channel?.nextEntryOffset(cursor) ?? through;
    return this.#replays.get(
      `${view.name} ${cursor.offset}.${cursor.k} ${entry}`,
      caller,
      (turns) => replayLog(this.#source, view, { cursor, through: entry }, turns),
    );
  }

  /**
   * Returns whether a viewer that resumes at this offset must continue with snapshots of finished turns. This
   * is necessary if the viewer may have received a part of such a turn.
   */
  async resumesSettled(
    { settles = false, batch }: FrameView,
    offset: number,
    caller: string,
  ): Promise<boolean> {
    await this.#reload;
    // Views that send batches never end a batch inside a settled turn.
    if (!settles || batch !== undefined) return false;
    return isInFinishedTurn(this.#source, offset, new CallerTurns(caller));
  }

  /**
   * Returns the end of an earlier run, for a viewer that reads the recent records first. Returns undefined if
   * the session is short, or if the view needs the state before the viewer's first record.
   */
  async recentStart({ batch, settles = false }: FrameView): Promise<Cursor | undefined> {
    await this.#reload;
    const { through: end } = this.#history.state;
    if (batch === undefined || !settles || end < 2 * recentRecords) return undefined;
    const through = end - recentRecords;
    if (this.#recentStart === undefined || through - this.#recentStart > recentRecords) {
      const { session, incarnation } = this;
      const from = Math.max(recentRecords, end - maxRecentRecords);
      const range = { from, through, incarnation };
      this.#recentStart = await findRunEnd(this.#options.log, session, range);
    }
    return this.#recentStart === undefined ? undefined : { offset: this.#recentStart };
  }

  close(): void {
    this.#stop.abort();
    this.#stopWindow?.();
    for (const cancel of this.#lingerTimers.values()) cancel();
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
    this.#lingerTimers.clear();
    this.#replays.clear();
    this.#pending = [];
  }

  get #source(): ReplaySource {
    const { session, incarnation } = this;
    const [history, states, pages] = [this.#history, this.#states, this.#pages];
    return { log: this.#options.log, session, incarnation, history, states, pages };
  }

  #restate(view: FrameView, caller: string): Promise<FrameChunk | undefined> {
    const { state } = this.#history;
    const { through } = state;
    return this.#replays.get(`${view.name} restated ${through}`, caller, async () => {
      const frames = view.restate(state);
      const last = frames.at(-1);
      // The id of the last frame confirms that the client has everything up to this offset.
      const lastFrame = last && [{ ...last, id: last.id ?? `${through}` }];
      const all = [...frames.slice(0, -1), ...(lastFrame ?? [])];
      return encodeChunk({ after: 0, through }, all, idEndOf(this.incarnation));
    });
  }

  async #follow(): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stop;
    let end: FeedEnd = 'closed';
    try {
      const { incarnation } = this;
      const start = { from: this.#history.state.through, incarnation };
      for await (const batch of log.follow(this.session, { ...start, until: 'closed', signal })) {
        this.#receive(isExact(batch) ? batch : await readExact(log, this.session, batch));
        await this.#untilPublished(maxPending);
      }
    } catch (error) {
      const isDeleted = error instanceof LogError && error.code === 'no_session';
      end = isDeleted ? 'deleted' : 'failed';
    }
    if (end !== 'failed') {
      this.#stopWindow?.();
      this.#tryFlush();
      await this.#untilPublished(0);
    }
    if (!signal.aborted) this.#finish(end);
  }

  #receive({ through, records }: Batch): void {
    for (const record of records) this.#pending.push(record);
    this.#pendingThrough = through;
    if (this.#stopWindow === undefined || this.#pending.length > maxPending) this.#flush();
    this.#stopWindow ??= this.#openWindow();
  }

  #openWindow(): () => void {
    const { clock, limits } = this.#options;
    return clock.after(limits.mergeMs, () => {
      this.#stopWindow = undefined;
      if (this.#pendingThrough <= this.#history.state.through) return;
      this.#tryFlush();
      this.#stopWindow ??= this.#openWindow();
    });
  }

  #tryFlush(): void {
    try {
      this.#flush();
    } catch {
      // A timer calls this method, so no caller could handle the error.
      this.#finish('failed');
    }
  }

  /** Publishes the pending records. If this takes long, other work of the process runs in between. */
  #flush(): void {
    if (this.#hasNextTurn) return;
    const { clock } = this.#options;
    const start = clock.now();
    this.#pending = mergeAdjacent(this.#pending).slice();
    for (let ms = 0; ms >= 0 && ms < turnMs && this.#hasPending; ms = clock.now() - start)
      this.#publish();
    if (!this.#hasPending) return;
    this.#hasNextTurn = true;
    setImmediate(() => {
      this.#hasNextTurn = false;
      this.#tryFlush();
    });
  }

  /** True if the feed can publish records now. */
  get #hasPending(): boolean {
    const isOpen = this.#end === undefined && !this.#stop.signal.aborted;
    const isBehind = this.#pendingThrough > this.#history.state.through;
    return isOpen && isBehind && this.#reload === undefined;
  }

  #publish(): void {
    const { state } = this.#history;
    const records = this.#pending.slice(0, recordsPerStep);
    if (changesOldItem(state, records)) {
      this.#reload = this.#loadWhole();
      return;
    }
    const rest = this.#pending.slice(recordsPerStep);
    const last = rest.length === 0 ? undefined : records.at(-1)?.offset;
    const batch = { after: state.through, through: last ?? this.#pendingThrough, records };
    this.#pending = rest;
    const steps = this.#history.add(batch);
    if (this.#history.isStale) this.#forgetContent();
    for (const channel of this.#channels.values()) channel.publish(batch, steps, rest[0]);
  }

  /** Waits until at most this many records are pending. */
  async #untilPublished(count: number): Promise<void> {
    await this.#reload;
    while (this.#hasNextTurn && this.#pending.length > count) {
      await nextTurn();
      await this.#reload;
    }
  }

  /** Removes cached content after a redaction, because redacted content must not be sent. */
  #forgetContent(): void {
    for (const channel of this.#channels.values()) channel.clearRing();
    this.#replays.clear();
    this.#pages.forget();
    this.#states.forget();
    this.#history.forget();
  }

  /** Loads all items, because a record changes an item of an earlier run. Then it publishes this record. */
  async #loadWhole(): Promise<void> {
    const { incarnation } = this;
    const { through } = this.#history.state;
    try {
      const whole = await foldWhole(this.#options.log, this.session, { through, incarnation });
      this.#history = new History(whole);
      this.#reload = undefined;
      this.#flush();
    } catch {
      this.#reload = undefined;
      this.#finish('failed');
    }
  }

  #closeChannel(name: ViewName): void {
    this.#lingerTimers.delete(name);
    const channel = this.#channels.get(name);
    if (channel === undefined || channel.viewers > 0) return;
    channel.close();
    this.#channels.delete(name);
    if (this.#channels.size === 0) this.#options.onIdle(this);
  }

  #finish(end: FeedEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#options.onEnd(this, end);
  }
}
