import {
  type AgentEvent,
  agentEvents,
  type Batch,
  Folder,
  type FoldState,
  findItem,
  type LogRecord,
  type SessionId,
  stateAfterRun,
} from '@millrace/core';
import type { ClientError } from '../contract/client-error.ts';
import type { Task } from '../contract/server-types.ts';
import type { Connection, TaskSnapshot } from '../contract/task-handle.ts';
import type { StreamTarget } from '../stream/stream-event.ts';
import { LiveItems } from './live-items.ts';

interface StoreListener {
  /** Returns whether the handle has readers of events. Without readers, the store creates no events. */
  readonly wantsEvents: () => boolean;
  readonly onEvents: (events: readonly AgentEvent[]) => void;
  readonly onConnection: (connection: Connection) => void;
  /** Called when the server's log was rewound and the client must read it again. */
  readonly onRewound: (why: ClientError) => void;
  /** Called after one or more changes. */
  readonly onChange: () => void;
  /** Called before the stream reads more data. The stream waits for the returned promise. */
  readonly beforeMore: () => void | Promise<void>;
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The interval at which subscribers are notified while the client catches up, in milliseconds. Without this
 * limit, a long session would cause many renders.
 */
const catchUpMs = 250;

/** Stores the folded state of a task, and creates its snapshots. */
export class TaskStore implements StreamTarget {
  readonly #session: SessionId;
  readonly #listener: StoreListener;
  readonly #items = new LiveItems();
  #folder: Folder;
  #start: 'first' | 'recent';
  /** The offset after which the folded records start. It is 0 if all records are folded. */
  #after = 0;
  /**
   * The incarnation of the log to which the folded records belong. Undefined until the server has sent it.
   */
  #incarnation: string | undefined;
  #task: Task | undefined;
  #connection: Connection = { state: 'connecting', failures: 0 };
  #snapshot: TaskSnapshot | undefined;
  #isChanged = false;
  #expected = 0;
  #toldAt = 0;

  constructor(session: SessionId, listener: StoreListener, start: 'first' | 'recent' = 'first') {
    this.#session = session;
    this.#start = start;
    this.#listener = listener;
    this.#folder = new Folder(session);
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  get through(): number {
    return this.state.through;
  }

  get start(): 'first' | 'recent' {
    return this.#start;
  }

  /** The offset after which the folded records start. It is 0 if all records are folded. */
  get after(): number {
    return this.#after;
  }

  get isRunOpen(): boolean {
    return this.state.run !== undefined;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** The items of the current state. */
  get items(): LiveItems {
    this.#items.read(this.state);
    return this.#items;
  }

  get snapshot(): TaskSnapshot {
    this.#snapshot ??= {
      connection: this.#connection,
      task: this.#task,
      items: this.items.list,
      pendingApprovals: this.state.asked,
      pendingToolCalls: this.state.awaited,
      isCatchingUp: this.#isCatchingUp,
      isWhole: this.#after === 0,
      isRunning: this.isRunOpen,
      state: this.state,
    };
    return this.#snapshot;
  }

  add(batch: Batch): 'taken' | 'gap' {
    if (this.through === 0 && this.#start === 'recent') this.#startAt(batch.after);
    if (this.#after > 0 && batch.records.some((record) => this.#redactsEarlier(record)))
      return this.#readAll();
    const events: AgentEvent[] = [];
    const isTold = this.#listener.wantsEvents();
    const folded = this.#folder.addBatch(batch, (before, record, after) => {
      if (isTold) events.push(...agentEvents(before, record, after));
    });
    const { outcome } = folded;
    // The record may change an item that this store has not read, so the store reads the whole session.
    if (folded.outcome === 'gap' && folded.gap.code !== 'gap' && this.#after > 0)
      return this.#readAll();
    if (outcome === 'gap') return 'gap';
    if (outcome === 'applied') this.#change();
    if (events.length > 0) this.#listener.onEvents(events);
    return 'taken';
  }

  get incarnation(): string | undefined {
    return this.#incarnation;
  }

  setIncarnation(incarnation: string): void {
    this.#incarnation = incarnation;
  }

  /** Adds the records before `after`. `join` adds their items to a state. */
  join(join: (recent: FoldState) => FoldState): void {
    this.#after = 0;
    this.#folder = new Folder(join(this.state));
    this.#change();
  }

  reset(why?: ClientError): void {
    this.#folder = new Folder(this.#session);
    this.#after = 0;
    this.#incarnation = undefined;
    this.#change();
    if (why !== undefined) this.#listener.onRewound(why);
  }

  expect(through: number): void {
    this.#expected = through;
    this.#toldAt = this.#listener.now();
  }

  setTask(task: Task): void {
    this.#task = task;
    this.#change();
  }

  setConnection(connection: Connection): void {
    this.#connection = connection;
    this.#change();
    this.#listener.onConnection(connection);
  }

  flush(): void | Promise<void> {
    if (this.#isChanged && !this.#isEarly()) {
      this.#isChanged = false;
      this.#toldAt = this.#listener.now();
      this.#listener.onChange();
    }
    return this.#listener.beforeMore();
  }

  #startAt(after: number): void {
    if (after === 0) return;
    this.#after = after;
    this.#folder = new Folder(stateAfterRun(this.#session, after));
  }

  #redactsEarlier({ fact }: LogRecord): boolean {
    return fact?.type === 'item_redacted' && findItem(this.state, fact.itemId) === undefined;
  }

  /** Discards the records, because a record changes an earlier item. The client then reads all records. */
  #readAll(): 'gap' {
    this.#start = 'first';
    this.reset();
    return 'gap';
  }

  get #isCatchingUp(): boolean {
    return this.#connection.state === 'live' && this.through < this.#expected;
  }

  /**
   * Returns whether the notification can wait, because more data is expected and subscribers were notified
   * recently.
   */
  #isEarly(): boolean {
    return this.#isCatchingUp && Math.abs(this.#listener.now() - this.#toldAt) < catchUpMs;
  }

  #change(): void {
    this.#snapshot = undefined;
    this.#isChanged = true;
  }
}
