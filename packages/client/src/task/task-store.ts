import {
  type AgentEvent,
  agentEvents,
  type Batch,
  Folder,
  type FoldState,
  type SessionId,
} from '@millrace/core';
import type { Connection } from '../stream/connection.ts';
import type { StreamTarget } from '../stream/stream-target.ts';
import type { Task } from '../wire/task.ts';
import { LiveItems } from './live-items.ts';
import type { TaskSnapshot } from './task-snapshot.ts';

export interface StoreListener {
  /** There are events to be told; only then are they made. */
  readonly wantsEvents: () => boolean;
  readonly onEvents: (events: readonly AgentEvent[]) => void;
  readonly onConnection: (connection: Connection) => void;
  /** Something changed since the last time. */
  readonly onChange: () => void;
  /** Before more is read. */
  readonly beforeMore: () => void | Promise<void>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Who catches up is told of it so often, so that opening something long is not to render it many times. */
const catchUpMs = 250;

/** What is known of a task, and its snapshot at any time. */
export class TaskStore implements StreamTarget {
  readonly #session: SessionId;
  readonly #listener: StoreListener;
  readonly #items = new LiveItems();
  #folder: Folder;
  #task: Task | undefined;
  #connection: Connection = { state: 'connecting', failures: 0 };
  #snapshot: TaskSnapshot | undefined;
  #isChanged = false;
  #expected = 0;
  #toldAt = 0;

  constructor(session: SessionId, listener: StoreListener) {
    this.#session = session;
    this.#listener = listener;
    this.#folder = new Folder(session);
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  get through(): number {
    return this.state.through;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Read up to now. */
  get items(): LiveItems {
    this.#items.read(this.state);
    return this.#items;
  }

  get snapshot(): TaskSnapshot {
    this.#snapshot ??= {
      connection: this.#connection,
      task: this.#task,
      items: this.items.list,
      approvals: this.state.asked,
      isCatchingUp: this.#isCatchingUp,
      isRunning: this.state.run !== undefined,
      state: this.state,
    };
    return this.#snapshot;
  }

  add(batch: Batch): 'taken' | 'gap' {
    const events: AgentEvent[] = [];
    const isTold = this.#listener.wantsEvents();
    const { outcome } = this.#folder.addBatch(batch, (before, record, after) => {
      if (isTold) events.push(...agentEvents(before, record, after));
    });
    if (outcome === 'gap') return 'gap';
    if (outcome === 'applied') this.#change();
    if (events.length > 0) this.#listener.onEvents(events);
    return 'taken';
  }

  reset(): void {
    this.#folder = new Folder(this.#session);
    this.#change();
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

  get #isCatchingUp(): boolean {
    return this.#connection.state === 'live' && this.through < this.#expected;
  }

  /** More is on its way, and it was told a moment ago. */
  #isEarly(): boolean {
    return this.#isCatchingUp && Math.abs(this.#listener.now() - this.#toldAt) < catchUpMs;
  }

  #change(): void {
    this.#snapshot = undefined;
    this.#isChanged = true;
  }
}
