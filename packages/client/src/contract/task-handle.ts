import type {
  AgentEvent,
  AskedApproval,
  Attempt,
  AwaitedOutput,
  Batch,
  FoldState,
  Item,
  ItemId,
  JsonObject,
  JsonValue,
  Part,
  PartId,
} from '@millrace/core';
import type { ClientError } from './client-error.ts';
import type {
  Attachment,
  MessageContent,
  PastRequest,
  SpanInfo,
  Task,
  TaskDigest,
  TaskOutline,
} from './server-types.ts';

/** Options of every method. The signal cancels the request. */
export interface Cancelable {
  readonly signal?: AbortSignal | undefined;
}

/** Options of `TaskHandle.records`. */
export interface RecordsOptions extends Cancelable {
  /** The maximum number of records. Default: as many as fit into about 1 MiB. */
  readonly limit?: number | undefined;
}

/** Options of every command. */
export interface CommandOptions extends Cancelable {
  /**
   * The idempotency key. The server executes commands with the same key only once, even if the client sends a
   * command again after a reload. Default: a new random key.
   */
  readonly key?: string | undefined;
}

/** Options of `send`. */
export interface SendOptions extends CommandOptions {
  /**
   * `steer`: the message is added to the next model request of the current run. `follow_up`: the message
   * waits for the end of the run. Default: `follow_up`.
   */
  readonly when?: 'steer' | 'follow_up' | undefined;
  /**
   * The model that answers from this message on: one of `modelsOf` the agent. Only agent loops offer models.
   * Default: the model of the message before, or the first model.
   */
  readonly model?: string | undefined;
}

/** Options of `upload`. */
export interface UploadOptions extends Cancelable {
  /** The name of the file. Agents and users see it. */
  readonly name: string;
  /** The media type. Default: the type of the blob, or `application/octet-stream` if the blob has no type. */
  readonly type?: string | undefined;
}

/** Options of `approve`. */
export interface ApproveOptions extends CommandOptions {
  /** The person or program that approved the call. The log stores it. Default: not stored. */
  readonly by?: string | undefined;
  /** Replaces the input of the call. Default: the input that the model wrote. */
  readonly input?: JsonValue | undefined;
  /**
   * Also approves later calls that match the same rule. The value is a time in milliseconds since 1970, or
   * `session` for the rest of the session. It cannot be combined with `input`. Default: approves only this
   * call.
   */
  readonly until?: number | 'session' | undefined;
}

/** Options of `deny`. */
export interface DenyOptions extends CommandOptions {
  /** The person or program that denied the call. The log stores it. Default: not stored. */
  readonly by?: string | undefined;
  /** The reason for the denial. The model receives it too. Default: none. */
  readonly reason?: string | undefined;
}

/** Options of `provideToolResult`: either the output of the tool, or an error if the tool failed. */
export type ToolResultOptions = CommandOptions & {
  /** The person or program that provided the output. The log stores it. Default: not stored. */
  readonly by?: string | undefined;
} & (
    | { readonly output: JsonValue; readonly error?: undefined }
    | { readonly error: string; readonly output?: undefined }
  );

/** A call of a tool by an MCP app. */
export interface AppToolCall extends CommandOptions {
  /** The name of the tool, as the MCP server names it. */
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Where the call of an app runs. */
export interface SentAppCall {
  /** The task with the calls of the app. */
  readonly taskId: string;
  /** The id of the call in that task. */
  readonly toolCallId: string;
}

/** Confirms that the server's log contains a command. */
export interface Sent {
  readonly key: string;
  /**
   * The offset of the command on the log. Undefined for a sync agent, because sync agents have no command
   * queue.
   */
  readonly offset: number | undefined;
}

/**
 * Reads and controls one task. It follows the server's log while it has subscribers. Commands also work
 * without subscribers. Closing the handle does not end the task.
 */
export interface TaskHandle {
  readonly id: string;
  /** The current transcript, including content that is still streaming. */
  readonly transcript: readonly Item[];
  /** The ids of the items in order. The array is the same object until an item is added or removed. */
  readonly itemIds: readonly ItemId[];
  /** Returns the current snapshot. It is the same object until the task changes. */
  snapshot(): TaskSnapshot;
  /** Returns an item with the current content of its parts. */
  item(id: ItemId): LiveItem | undefined;
  /** Returns a part with its current content. */
  part(id: PartId): Part | undefined;

  /**
   * Connects to the server and calls the listener after each change. The returned function ends the
   * subscription.
   */
  subscribe(listener: () => void, options?: Cancelable): () => void;
  /**
   * Returns an iterator over all events from now on. For a handle without subscribers, it starts with the
   * first event of the task and summarizes finished turns. The iterator ends when the stream ends, and throws
   * the error of the stream.
   */
  events(options?: Cancelable): AsyncIterableIterator<AgentEvent>;
  /**
   * Calls the listener when the handle has read the records before the first event of `events`, with the
   * events of these records. This happens only for a client that reads the recent records first. The returned
   * function removes the listener.
   */
  onEarlier(listener: (events: readonly AgentEvent[]) => void): () => void;
  /**
   * Resolves with the first snapshot for which `fits` returns true. Rejects if the stream ends or fails
   * before that.
   */
  until(fits: (snapshot: TaskSnapshot) => boolean, options?: Cancelable): Promise<TaskSnapshot>;

  /**
   * Sends a message to the agent. By default, the message starts a run, or waits until the current run
   * ends.
   */
  send(input: string | MessageContent, options?: SendOptions): Promise<Sent>;
  /** Withdraws a message that the agent loop has not read yet. `key` is the key that `send` returned. */
  withdraw(key: string, options?: CommandOptions): Promise<Sent>;
  /**
   * Starts a new run of an agent loop without a new message. The server refuses it unless the last run
   * failed. If two clients retry the same run, the server starts only one run.
   */
  retry(options?: CommandOptions): Promise<Sent>;
  /** Approves a call that waits for an answer. */
  approve(toolCallId: string, options?: ApproveOptions): Promise<Sent>;
  /** Denies a call that waits for an answer. The model receives the reason. */
  deny(toolCallId: string, options?: DenyOptions): Promise<Sent>;
  /**
   * Sends the output of a tool that this client executed. The server refuses an output that does not match
   * the tool's schema, and a second, different output for the same call. Sending the same output again has no
   * effect.
   */
  provideToolResult(toolCallId: string, result: ToolResultOptions): Promise<Sent>;
  /**
   * Calls a tool for the MCP app of a tool call. The server runs the call in a task of its own, with the
   * permission rules of the agent. The server refuses a tool that the app cannot call.
   */
  callAppTool(toolCallId: string, call: AppToolCall): Promise<SentAppCall>;
  /** Stops the current run. The task stays open, and the next message resumes it. */
  stop(reason?: string, options?: Cancelable): Promise<Task>;
  /** Stops the current run and closes the task. */
  cancel(reason?: string, options?: Cancelable): Promise<Task>;
  /**
   * Uploads a file. The result can be used as an attachment of a message in this task. Uploading the same
   * file again has no further effect. The server deletes a file after a day if no message refers to it.
   */
  upload(file: Blob, options: UploadOptions): Promise<Attachment>;
  /** Returns the bytes of a blob to which a part refers. */
  blob(hash: string, options?: Cancelable): Promise<Blob>;

  /**
   * Returns a page of records after an offset. The records are not merged, so an inspector can show a session
   * step by step.
   */
  records(from: number, options?: RecordsOptions): Promise<Batch>;
  /**
   * Returns an outline of the task's log with a limited number of segments. An inspector then loads only the
   * records that the user looks at. The first read of a long log may need several calls, see `is_whole`.
   */
  outline(options?: Cancelable): Promise<TaskOutline>;
  /** Returns a summary of the task: whether it runs, why it stopped, and its token usage per model. */
  digest(options?: Cancelable): Promise<TaskDigest>;
  /** Returns the spans that the agent's handlers have recorded for the task. */
  spans(options?: Cancelable): Promise<readonly SpanInfo[]>;
  /** Returns the model request of one attempt of an agent loop. The server rebuilds it from the log. */
  request(at: Attempt, options?: Cancelable): Promise<PastRequest>;

  /** Opens the stream again after it has ended or failed. */
  reconnect(): void;
  /** Closes the handle. The task itself continues. */
  close(): void;
}

/**
 * The state of a task at one moment. A snapshot never changes. The next snapshot reuses all unchanged
 * objects.
 */
export interface TaskSnapshot {
  readonly connection: Connection;
  /** The row of the task on the server. Undefined until the server has sent it. */
  readonly task: Task | undefined;
  /** The items, including content that is still streaming. An unchanged item stays the same object. */
  readonly items: readonly LiveItem[];
  /** The calls that wait for an approval. */
  readonly pendingApprovals: readonly AskedApproval[];
  /** The tool calls that a client must execute. The transcript contains their inputs. */
  readonly pendingToolCalls: readonly AwaitedOutput[];
  /** True while the client is still receiving earlier records. */
  readonly isCatchingUp: boolean;
  /**
   * False while the handle has read only the recent records (see `firstRecords` of `createClient`). The items,
   * the state and the transcript then start at a recent run.
   */
  readonly isWhole: boolean;
  /** True while a run is active. */
  readonly isRunning: boolean;
  /** The folded state. It can be passed to functions of core, such as `totalUsage`. */
  readonly state: FoldState;
}

/** The connection of a handle to the server. */
export type Connection =
  /** The client is connecting, and no data has arrived yet. `failures` is the number of failed attempts. */
  | { readonly state: 'connecting'; readonly failures: number }
  | { readonly state: 'live' }
  /**
   * The connection failed. The client retries at `nextTryAt` (milliseconds since 1970), or earlier if the
   * network becomes available.
   */
  | {
      readonly state: 'retrying';
      readonly failures: number;
      readonly nextTryAt: number;
      readonly error: ClientError;
    }
  /** The server or the caller ended the stream. The next command opens a new stream. */
  | { readonly state: 'ended'; readonly reason: string }
  /**
   * The client does not retry, because a retry would also fail. `reconnect()` starts a new attempt anyway.
   */
  | { readonly state: 'failed'; readonly error: ClientError };

/**
 * An item with the current content of its streaming parts. It is the same object until its content changes.
 */
export interface LiveItem extends Item {
  /** The ids of the parts, in the same order as `parts`. */
  readonly partIds: readonly PartId[];
  /** True if the item can still receive content. */
  readonly isOpen: boolean;
  /** The time at which the item started, in milliseconds since 1970. */
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
}
