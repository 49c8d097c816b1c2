import type {
  AgentEvent,
  AskedApproval,
  Attempt,
  AwaitedOutput,
  Batch,
  FoldState,
  Item,
  ItemId,
  JsonValue,
  Part,
  PartId,
} from '@millrace/core';
import type { ClientError } from './client-error.ts';
import type { MessageContent, PastRequest, SpanInfo, Task, TaskDigest } from './server-types.ts';

/** Options of every method: a signal that cancels the request. */
export interface Cancelable {
  readonly signal?: AbortSignal | undefined;
}

/** Options of every command. */
export interface CommandOptions extends Cancelable {
  /**
   * The idempotency key. A command with the same key is executed once, even if it is sent again
   * after a reload. Default: a new random key.
   */
  readonly key?: string | undefined;
}

/** Options of `send`. */
export interface SendOptions extends CommandOptions {
  /**
   * `steer` joins the next request of the current run. `follow_up` waits for the end of the run.
   * Default: `follow_up`.
   */
  readonly when?: 'steer' | 'follow_up' | undefined;
}

/** Options of `approve`. */
export interface ApproveOptions extends CommandOptions {
  /** Who approved the call, for the log. Default: not recorded. */
  readonly by?: string | undefined;
  /** Replaces the input of the call. Default: the model's input. */
  readonly input?: JsonValue | undefined;
  /**
   * The decision also applies to later calls under the same rule: until this time (ms since 1970),
   * or until the session ends. Refused together with `input`. Default: this call only.
   */
  readonly until?: number | 'session' | undefined;
}

/** Options of `deny`. */
export interface DenyOptions extends CommandOptions {
  /** Who denied the call, for the log. Default: not recorded. */
  readonly by?: string | undefined;
  /** The reason, which the model also gets. Default: none. */
  readonly reason?: string | undefined;
}

/** Options of `provideToolResult`: the output of the tool, or the error with which it failed. */
export type ToolResultOptions = CommandOptions & {
  /** Who gave the output, for the log. Default: not recorded. */
  readonly by?: string | undefined;
} & (
    | { readonly output: JsonValue; readonly error?: undefined }
    | { readonly error: string; readonly output?: undefined }
  );

/** Confirms that the command is on the server's log. */
export interface Sent {
  readonly key: string;
  /** The offset on the log; undefined for a sync agent, which has no command queue. */
  readonly offset: number | undefined;
}

/**
 * One task. The handle follows the server's log while it has subscribers. Commands work without
 * subscribers too. Closing the handle does not end the task.
 */
export interface TaskHandle {
  readonly id: string;
  /** The live transcript of core. */
  readonly transcript: readonly Item[];
  /**
   * The ids of the items in order. The list is the same object until an item is added or removed.
   */
  readonly itemIds: readonly ItemId[];
  /** Returns the current snapshot. It is the same object until something changes. */
  snapshot(): TaskSnapshot;
  /** Returns an item with the current content of its parts. */
  item(id: ItemId): LiveItem | undefined;
  /** Returns a part with its current content. */
  part(id: PartId): Part | undefined;

  /** Connects and calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void, options?: Cancelable): () => void;
  /**
   * The events that are folded from now on. For a handle without earlier subscribers these are all
   * events, with finished turns in short form. The iterator ends with the stream and throws its
   * error.
   */
  events(options?: Cancelable): AsyncIterableIterator<AgentEvent>;
  /** Resolves with the first snapshot that fits. Rejects if the stream ends or fails before. */
  until(fits: (snapshot: TaskSnapshot) => boolean, options?: Cancelable): Promise<TaskSnapshot>;

  /** Sends a message to the agent. Default: it starts a run, or waits until the current run ends. */
  send(input: string | MessageContent, options?: SendOptions): Promise<Sent>;
  /**
   * Withdraws a message by the key that `send` returned, if the agent loop has not received it yet.
   */
  withdraw(key: string, options?: CommandOptions): Promise<Sent>;
  /** Approves a call that waits for an answer. */
  approve(toolCallId: string, options?: ApproveOptions): Promise<Sent>;
  /** Denies a call that waits for an answer. The model gets the reason. */
  deny(toolCallId: string, options?: DenyOptions): Promise<Sent>;
  /**
   * Sends the output of a tool that this client runs. The server refuses an output that does not fit
   * the tool, and a second output for the same call. The same output again has no effect.
   */
  provideToolResult(toolCallId: string, result: ToolResultOptions): Promise<Sent>;
  /** Stops the current run. The task stays, and the next message resumes it. */
  stop(reason?: string, options?: Cancelable): Promise<Task>;
  /** Stops the current run and closes the task. */
  cancel(reason?: string, options?: Cancelable): Promise<Task>;
  /** Returns the bytes of a blob that a part refers to. */
  blob(hash: string, options?: Cancelable): Promise<Blob>;

  /**
   * Returns a page of unmerged records after an offset, for example to show a session step by step.
   */
  records(from: number, options?: Cancelable): Promise<Batch>;
  /**
   * Returns the current result of the task: whether it runs, why it stopped, and its usage by
   * model.
   */
  digest(options?: Cancelable): Promise<TaskDigest>;
  /** Returns the spans that the handlers of the task have written. */
  spans(options?: Cancelable): Promise<readonly SpanInfo[]>;
  /**
   * Returns the request that an agent loop sent to its model in an attempt, rebuilt from the log.
   */
  request(at: Attempt, options?: Cancelable): Promise<PastRequest>;

  /** Opens the stream again after it ended or failed. */
  reconnect(): void;
  /** Closes the handle. The task itself continues. */
  close(): void;
}

/**
 * The state of a task at one moment. It never changes. The next snapshot shares everything that did
 * not change.
 */
export interface TaskSnapshot {
  readonly connection: Connection;
  /** The task as the server stores it; undefined until the server sent it. */
  readonly task: Task | undefined;
  /** The live transcript. Unchanged items are the same objects as before. */
  readonly items: readonly LiveItem[];
  /** Calls that wait for an approval. */
  readonly pendingApprovals: readonly AskedApproval[];
  /** Calls that a client has to run. Their inputs are in the transcript. */
  readonly pendingToolCalls: readonly AwaitedOutput[];
  /** Whether earlier records are still arriving. */
  readonly isCatchingUp: boolean;
  /** Whether a run is in progress. */
  readonly isRunning: boolean;
  /** The folded state, for functions of core such as `totalUsage`. */
  readonly state: FoldState;
}

/** The connection of a handle to the server. */
export type Connection =
  /** Nothing arrived yet. `failures` counts the failed attempts. */
  | { readonly state: 'connecting'; readonly failures: number }
  | { readonly state: 'live' }
  /** The client retries at this time (ms since 1970), or as soon as the network is back. */
  | {
      readonly state: 'retrying';
      readonly failures: number;
      readonly nextTryAt: number;
      readonly error: ClientError;
    }
  /** The server or the caller ended the stream. The next command opens it again. */
  | { readonly state: 'ended'; readonly reason: string }
  /** A retry would not help. `reconnect()` tries it anyway. */
  | { readonly state: 'failed'; readonly error: ClientError };

/**
 * An item including the current content of its streaming parts. It is the same object until it
 * changes.
 */
export interface LiveItem extends Item {
  /** The ids of the parts, in the same order. */
  readonly partIds: readonly PartId[];
  /** Whether more content can arrive. */
  readonly isOpen: boolean;
  /** Milliseconds since 1970. */
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
}
