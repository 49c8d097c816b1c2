import {
  type AgentEvent,
  type Attempt,
  type Batch,
  type Item,
  type ItemId,
  liveTranscript,
  type Part,
  type PartId,
  sessionId,
} from '@millrace/core';
import { ClientError } from '../contract/client-error.ts';
import type {
  Attachment,
  MessageContent,
  PastRequest,
  SpanInfo,
  Task,
  TaskDigest,
  TaskOutline,
} from '../contract/server-types.ts';
import type {
  ApproveOptions,
  AppToolCall,
  Cancelable,
  CommandOptions,
  Connection,
  DenyOptions,
  LiveItem,
  RecordsOptions,
  SendOptions,
  Sent,
  SentAppCall,
  TaskHandle,
  TaskSnapshot,
  ToolResultOptions,
  UploadOptions,
} from '../contract/task-handle.ts';
import type { Http } from '../http/http.ts';
import { TaskStream } from '../stream/task-stream.ts';
import type { WakeUps } from '../stream/wake-ups.ts';
import { EventQueue } from './event-queue.ts';
import { TaskCommands } from './task-commands.ts';
import { TaskStore } from './task-store.ts';

/**
 * Imports the code that reads records and digests. It is imported on demand, because inspectors need it but a
 * chat does not.
 */
const taskReads = () => import('./task-reads.ts');
/** Imports the code that reads the earlier records of a long task. */
const earlierRecords = () => import('./earlier-records.ts');

interface LiveTaskOptions {
  readonly http: Http;
  readonly id: string;
  /** The path of the task's routes. */
  readonly path: string;
  readonly newKey: () => string;
  readonly heartbeatMs: number;
  /**
   * The time for which a stream stays open after its last subscriber has left, in milliseconds. A subscriber
   * may return soon.
   */
  readonly lingerMs: number;
  readonly wakeUps: WakeUps;
  /** Which records the handle reads first. */
  readonly firstRecords: 'all' | 'recent';
  readonly onClose: () => void;
}

/** If this many events wait, the stream pauses until the reader has caught up. */
const manyEvents = 1000;
/**
 * The implementation of a task handle. It consists of a store, commands, and a stream. The stream fills the
 * store while the handle has subscribers.
 */
export class LiveTask implements TaskHandle {
  readonly id: string;
  readonly #options: LiveTaskOptions;
  readonly #store: TaskStore;
  readonly #commands: TaskCommands;
  readonly #listeners = new Set<() => void>();
  readonly #queues = new Set<EventQueue>();
  readonly #earlierListeners = new Set<(events: readonly AgentEvent[]) => void>();
  #stream: TaskStream | undefined;
  /** The read of the earlier records, while the handle has only the recent ones. */
  #earlier: { readonly through: number; readonly stop: AbortController } | undefined;
  #stopLinger: () => void = () => {};
  #isClosed = false;
  #transcript: { readonly of: unknown; readonly items: readonly Item[] } | undefined;

  constructor(options: LiveTaskOptions) {
    this.id = options.id;
    this.#options = options;
    this.#commands = new TaskCommands(options);
    const listener = {
      wantsEvents: () => this.#queues.size > 0,
      onEvents: (events: readonly AgentEvent[]) => {
        for (const queue of this.#queues) queue.push(events);
      },
      onConnection: (connection: Connection) => this.#onConnection(connection),
      onRewound: (why: ClientError) => {
        for (const queue of this.#queues) queue.fail(why);
      },
      onChange: () => this.#tell(),
      beforeMore: () => this.#beforeMore(),
      now: () => options.http.options.clock.now(),
    } satisfies ConstructorParameters<typeof TaskStore>[1];
    const start = options.firstRecords === 'recent' ? 'recent' : 'first';
    this.#store = new TaskStore(sessionId(options.id), listener, start);
  }

  get transcript(): readonly Item[] {
    const { state } = this.#store;
    if (this.#transcript?.of !== state)
      this.#transcript = { of: state, items: liveTranscript(state) };
    return this.#transcript.items;
  }

  get itemIds(): readonly ItemId[] {
    return this.#store.items.ids;
  }

  readonly snapshot = (): TaskSnapshot => this.#store.snapshot;

  item(id: ItemId): LiveItem | undefined {
    return this.#store.items.find(id);
  }

  part(id: PartId): Part | undefined {
    return this.#store.items.findPart(id);
  }

  // An arrow function, because React hooks need the same function object in each render.
  readonly subscribe = (listener: () => void, { signal }: Cancelable = {}): (() => void) => {
    // With this wrapper, a caller can subscribe the same function twice and remove each subscription
    // separately.
    const own = () => listener();
    const leave = () => {
      signal?.removeEventListener('abort', leave);
      if (this.#listeners.delete(own)) this.#rest();
    };
    if (signal?.aborted) return leave;
    signal?.addEventListener('abort', leave);
    this.#listeners.add(own);
    this.#work();
    return leave;
  };

  events({ signal }: Cancelable = {}): AsyncIterableIterator<AgentEvent, undefined> {
    const onAbort = () => queue.fail(signal?.reason);
    const queue = new EventQueue(() => {
      signal?.removeEventListener('abort', onAbort);
      if (this.#queues.delete(queue)) this.#rest();
    });
    if (signal?.aborted) queue.fail(signal.reason);
    else {
      signal?.addEventListener('abort', onAbort);
      this.#queues.add(queue);
      this.#work();
      this.#onConnection(this.#store.connection);
    }
    return queue;
  }

  onEarlier(listener: (events: readonly AgentEvent[]) => void): () => void {
    const own = (events: readonly AgentEvent[]) => listener(events);
    this.#earlierListeners.add(own);
    return () => this.#earlierListeners.delete(own);
  }

  until(
    fits: (snapshot: TaskSnapshot) => boolean,
    { signal }: Cancelable = {},
  ): Promise<TaskSnapshot> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const over = (settle: () => void) => {
        leave();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = () => over(() => reject(signal?.reason));
      const look = () => {
        const snapshot = this.snapshot();
        const { connection } = snapshot;
        if (fits(snapshot)) over(() => resolve(snapshot));
        else if (connection.state === 'failed') over(() => reject(connection.error));
        else if (connection.state === 'ended')
          over(() => reject(ended(this.id, connection.reason)));
      };
      const leave = this.subscribe(look);
      signal?.addEventListener('abort', onAbort);
      look();
    });
  }

  async send(input: string | MessageContent, options: SendOptions = {}): Promise<Sent> {
    const sent = await this.#commands.send(input, options);
    // The command may continue an ended task, so the client opens the stream again.
    if (this.#store.connection.state === 'ended') this.reconnect();
    return sent;
  }

  async retry(options: CommandOptions = {}): Promise<Sent> {
    const sent = await this.#commands.retry(options);
    if (this.#store.connection.state === 'ended') this.reconnect();
    return sent;
  }

  withdraw(key: string, options: CommandOptions = {}): Promise<Sent> {
    return this.#commands.withdraw(key, options);
  }

  approve(toolCallId: string, options: ApproveOptions = {}): Promise<Sent> {
    return this.#commands.approve(toolCallId, options);
  }

  deny(toolCallId: string, options: DenyOptions = {}): Promise<Sent> {
    return this.#commands.deny(toolCallId, options);
  }

  callAppTool(toolCallId: string, call: AppToolCall): Promise<SentAppCall> {
    return this.#commands.callAppTool(toolCallId, call);
  }

  provideToolResult(toolCallId: string, result: ToolResultOptions): Promise<Sent> {
    return this.#commands.provideToolResult(toolCallId, result);
  }

  stop(reason?: string, options: Cancelable = {}): Promise<Task> {
    return this.#commands.stop(reason, options);
  }

  cancel(reason?: string, options: Cancelable = {}): Promise<Task> {
    return this.#commands.cancel(reason, options);
  }

  upload(file: Blob, options: UploadOptions): Promise<Attachment> {
    return this.#commands.upload(file, options);
  }

  blob(hash: string, options: Cancelable = {}): Promise<Blob> {
    return this.#commands.blob(hash, options);
  }

  async records(from: number, options: RecordsOptions = {}): Promise<Batch> {
    const { readRecords } = await taskReads();
    const incarnation = from > 0 ? this.#store.incarnation : undefined;
    const query = { from, incarnation, limit: options.limit };
    return readRecords(this.#options.http, this.#options, query, options);
  }

  async outline(options: Cancelable = {}): Promise<TaskOutline> {
    const { readOutline } = await taskReads();
    return readOutline(this.#options.http, this.id, options);
  }

  async digest(options: Cancelable = {}): Promise<TaskDigest> {
    const { readDigest } = await taskReads();
    return readDigest(this.#options.http, this.id, options);
  }

  async spans(options: Cancelable = {}): Promise<readonly SpanInfo[]> {
    const { readSpans } = await taskReads();
    return readSpans(this.#options.http, this.id, options);
  }

  async request(at: Attempt, options: Cancelable = {}): Promise<PastRequest> {
    const { readRequest } = await taskReads();
    return readRequest(this.#options.http, this.id, at, options);
  }

  reconnect(): void {
    const { connection } = this.#store;
    const isOver = connection.state === 'ended' || connection.state === 'failed';
    if (!isOver || this.#isClosed) return;
    // The server has a new log for this task, so the client discards the folded state.
    if (connection.state === 'failed' && connection.error.code === 'gone') this.#store.reset();
    this.#halt();
    this.#work();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#halt();
    this.#store.setConnection({ state: 'ended', reason: 'closed' });
    this.#tell();
    this.#options.onClose();
  }

  /** Opens the stream if it is not open. It is called when the handle has a subscriber. */
  #work(): void {
    this.#stopLinger();
    if (this.#stream !== undefined || this.#isClosed) return;
    if (this.#listeners.size + this.#queues.size === 0) return;
    const { http, id: taskId, path, heartbeatMs, wakeUps } = this.#options;
    const target = this.#store;
    target.setConnection({ state: 'connecting', failures: 0 });
    this.#stream = new TaskStream({ http, taskId, path, target, heartbeatMs, wakeUps });
    this.#stream.start();
  }

  /** Closes the stream after a delay if the handle has no subscribers. */
  #rest(): void {
    if (this.#listeners.size + this.#queues.size > 0 || this.#stream === undefined) return;
    const { http, lingerMs } = this.#options;
    this.#stopLinger();
    this.#stopLinger = http.options.clock.after(lingerMs, () => {
      this.#halt();
      const { state } = this.#store.connection;
      const isOver = state === 'ended' || state === 'failed';
      if (!isOver) this.#store.setConnection({ state: 'connecting', failures: 0 });
    });
  }

  #halt(): void {
    this.#stopLinger();
    this.#earlier?.stop.abort();
    this.#earlier = undefined;
    this.#stream?.stop();
    this.#stream = undefined;
  }

  #onConnection(connection: Connection): void {
    if (connection.state === 'failed')
      for (const queue of this.#queues) queue.fail(connection.error);
    if (connection.state === 'ended') for (const queue of this.#queues) queue.end();
  }

  /** Reads the earlier records, if the handle has only the recent ones and is up to date. */
  #readEarlier(): void {
    const { after, incarnation } = this.#store;
    if (this.#earlier?.through === after) return;
    this.#earlier?.stop.abort();
    this.#earlier = undefined;
    const { isCatchingUp, connection } = this.#store.snapshot;
    if (after === 0 || isCatchingUp || connection.state !== 'live') return;
    const stop = new AbortController();
    this.#earlier = { through: after, stop };
    const { signal } = stop;
    const wantsEvents = () => this.#queues.size > 0;
    const { http, id: taskId, path, heartbeatMs, wakeUps } = this.#options;
    earlierRecords()
      .then(({ readEarlier }) => {
        const options = { http, taskId, path, heartbeatMs, wakeUps, wantsEvents, signal };
        return readEarlier({ ...options, through: after, incarnation });
      })
      .then(
        ({ events, join }) => {
          if (signal.aborted) return;
          this.#store.join(join);
          for (const listener of [...this.#earlierListeners]) listener(events);
          void this.#store.flush();
        },
        () => {
          // When the task changes next, the client tries again to read the earlier records.
          if (this.#earlier?.stop === stop) this.#earlier = undefined;
        },
      );
  }

  #tell(): void {
    this.#readEarlier();
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        // An error in one listener must not stop the other listeners. It is reported like an uncaught error.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  #beforeMore(): void | Promise<void> {
    if (![...this.#queues].some(({ length }) => length > manyEvents)) return;
    const { clock } = this.#options.http.options;
    return new Promise((resolve) => clock.after(0, resolve));
  }
}

function ended(task: string, reason: string): ClientError {
  const message = `Task ${task} did not get there: its stream ended (${reason})`;
  return new ClientError('closed', message, { task });
}
