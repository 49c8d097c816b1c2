import type {
  Attempt,
  FilePart,
  Item,
  JsonObject,
  MediaPart,
  RunId,
  TraceContext,
} from '@millrace/core';
import type { ForkOptions } from '@millrace/log';
import type { ContentOf } from './content.ts';
import type { PastRequestInfo } from './inspection.ts';
import type { TaskMessage, Update } from './message.ts';
import type * as bodies from './request-bodies.ts';
import type { Command, MessageFilter } from './request-bodies.ts';
import type {
  AgentInfo,
  SpanInfo,
  Task,
  TaskEvent,
  TaskPlace,
  TaskResponse,
  TaskState,
  TaskStatus,
  TaskSummary,
  Tracker,
} from './task.ts';

/**
 * The operations behind the HTTP routes. They use the types of requests and responses. A refused operation
 * throws a `ServerError` with one of these codes:
 *
 * - `not_found`: the resource is unknown or was deleted.
 * - `bad_state`: the state of the resource does not allow the operation.
 * - `conflict`: a concurrent request changed the resource.
 * - `agent_failed`: a handler of the agent threw.
 */
export interface TaskService {
  readonly agents: AgentService;
  readonly tasks: TasksService;
  readonly messages: MessageService;
  readonly events: EventService;
  readonly states: StateService;
  readonly spans: SpanService;
  readonly trackers: TrackerService;
  readonly files: FileService;
}

/** Identifies a resource by its id or by its name. */
export type Ref = { readonly id: string } | { readonly name: string };

/**
 * Selects one page of a list. If `cursor` is given, `pageNumber` is ignored. Use the `next` of the previous
 * page as the cursor. Page numbers start at 1.
 */
export interface PageQuery {
  readonly limit: number;
  readonly pageNumber: number;
  readonly cursor?: string | undefined;
  readonly orderBy: 'created_at' | 'updated_at';
  readonly direction: 'asc' | 'desc';
}

export interface ListPage<T> {
  readonly data: readonly T[];
  /** The cursor of the next page. Null on the last page. */
  readonly next: string | null;
}

export interface DeleteResult {
  readonly id: string;
  readonly message: string;
}

export interface AgentService {
  /** Lists the agents of a task, or all agents. Deleted agents are not included. */
  list(query: PageQuery & { readonly taskId?: string | undefined }): Promise<ListPage<AgentInfo>>;
  get(ref: Ref): Promise<AgentInfo>;
  delete(id: string): Promise<DeleteResult>;
  registerBuild(body: bodies.RegisterBuild): Promise<AgentInfo>;
  /**
   * Creates the agent, or replaces the agent with the same name. No other operation returns the agent's key.
   */
  register(
    body: bodies.RegisterAgent,
    options?: {
      /**
       * The id of the agent's own key, if the agent registers itself. It can then not move to a more local address,
       * and its key must still be valid when the registration is stored. Default: another caller registers it.
       */
      readonly keyId?: string | undefined;
      /** The id of the token that registers the agent. If it is revoked, the key is revoked too. Default: none. */
      readonly issuerId?: string | undefined;
    },
  ): Promise<AgentInfo & { readonly agent_api_key: string }>;
}

/** The data of a request that is outside its body. */
export interface RequestMetadata {
  /** The idempotency key. A repeated request with the same key has no further effect. */
  readonly key?: string | undefined;
  /** The trace to which the work belongs. */
  readonly trace?: TraceContext | undefined;
  /** The user who becomes the owner of a task that the request creates. Default: the task has no owner. */
  readonly owner?: string | undefined;
  /** The files and the metadata of the message. Only agent loops accept files. */
  readonly extras?: MessageExtras | undefined;
  /** Limits how much data the caller can copy with forks, branches and copies of tasks. Default: no limit. */
  readonly copies?: CopyLimit | undefined;
  /** True if the server itself sends the call of an MCP app, after it has checked the tool. Default: false. */
  readonly isAppCall?: boolean | undefined;
}

/** Limits the copies of one caller. */
export interface CopyLimit {
  /** Throws `rate_limited` while another copy of the caller runs. */
  assertIdle(): void;
  /** Throws `rate_limited` if the caller cannot start a copy now. */
  assertFree(): void;
  /**
   * Runs a copy. Throws `rate_limited` if the caller cannot start a copy now. The copy must call `onCopy` with
   * the size of each part before it stores the part. `onCopy` throws if the part is over the limit.
   */
  run<T>(copy: (onCopy: (bytes: number) => void) => Promise<T>): Promise<T>;
}

/** The files and the metadata of a message, in addition to its text. */
export interface MessageExtras {
  /** Pictures and other files. They come after the text. */
  readonly files?: readonly (MediaPart | FilePart)[] | undefined;
  readonly metadata?: JsonObject | undefined;
  /** The items of the message. They replace its content. Only `submit` accepts them. */
  readonly items?: readonly Omit<Item, 'id'>[] | undefined;
}

export interface TasksService {
  /**
   * Creates a task. If a task with this name exists, it is returned, and the given `params` replace its own.
   * If the idempotency key was used before, the task of the first request is returned in its current state.
   * If that task was deleted, the call throws `not_found`.
   */
  create(agentId: string, body: bodies.CreateTask, sent?: RequestMetadata): Promise<Task>;
  /**
   * Stores the message and starts the answer. Creates a task if no known id or name is given. If the
   * idempotency key was used before, the existing answer is returned, whatever status the task has. A deleted
   * task throws `not_found`.
   */
  sendMessage(agentId: string, body: bodies.SendMessage, sent?: RequestMetadata): Promise<Answer>;
  /**
   * Sends an event. If the idempotency key was used before, it returns the event of the first request.
   * `task_id` or `task_name` is required.
   */
  sendEvent(agentId: string, body: bodies.SendEvent, sent?: RequestMetadata): Promise<TaskEvent>;
  /** Queues a command for the agent loop that drives the task. */
  submit(taskId: string, command: Command, sent?: RequestMetadata): Promise<SubmitResult>;
  /** Copies the task into a new task, up to the given item. An agent loop continues in the new task. */
  fork(
    taskId: string,
    body: bodies.ForkTask,
    sent?: Pick<RequestMetadata, 'trace' | 'copies'>,
  ): Promise<Task>;
  /** Continues the task from any record of its log in a new task, with a change. */
  branch(
    taskId: string,
    body: bodies.BranchTask,
    sent?: Pick<RequestMetadata, 'trace' | 'copies'>,
  ): Promise<Task>;
  /**
   * Creates a task with a copy of the log of another task up to an offset, and with further records. The copy
   * does nothing until it receives a command. A repeated idempotency key returns the first copy.
   */
  copy(
    taskId: string,
    copied: Omit<ForkOptions, 'into'>,
    sent?: Pick<RequestMetadata, 'key' | 'copies'>,
  ): Promise<Task>;
  get(ref: Ref): Promise<TaskResponse>;
  /**
   * Returns the user who owns a task. Returns undefined if the task has no owner. Throws `not_found` if the
   * task does not exist.
   */
  ownerOf(taskId: string): Promise<string | undefined>;
  /** Rebuilds a model request that an agent loop sent in the past, from the log. */
  request(taskId: string, at: Attempt): Promise<PastRequestInfo>;
  list(query: TaskQuery): Promise<ListPage<TaskSummary>>;
  update(id: string, body: bodies.UpdateTask): Promise<Task>;
  delete(id: string): Promise<DeleteResult>;
  /**
   * Changes the status of a task and stops its current work. Throws `bad_state` if the task is already
   * closed. A task can be interrupted repeatedly.
   */
  change(id: string, change: TaskChange, reason?: string): Promise<Task>;
}

/** Stores and returns the files that clients upload for their messages. */
export interface FileService {
  /** Stores a file of a task. The result can be used as an attachment of a message. */
  upload(taskId: string, file: UploadedFile): Promise<FileAttachment>;
  /** Returns a file of this task. If the task is a fork, it also finds files of the original task. */
  get(taskId: string, fileId: string): Promise<FilePart>;
}

/** A file that a client uploads. */
export interface UploadedFile {
  readonly name: string;
  /** The media type. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** The reference to an uploaded file in a message. */
export type FileAttachment = NonNullable<ContentOf<'text'>['attachments']>[number];

export type TaskChange = 'complete' | 'fail' | 'cancel' | 'interrupt' | 'terminate' | 'timeout';

export interface TaskQuery extends PageQuery {
  readonly agentId?: string | undefined;
  readonly owner?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** Metadata fields and their values. The task must have all of them. */
  readonly metadata?: JsonObject | undefined;
  /** The part of the session list to which the task must belong. Default: all parts. */
  readonly place?: TaskPlace | undefined;
  /**
   * A text that the title, the name or the id of the task must contain. The case of letters does not matter.
   */
  readonly search?: string | undefined;
}

/**
 * An answer. Callers can read it as updates or as messages. The answer continues even if no client reads it.
 */
export interface Answer {
  readonly taskId: string;
  /** The run that produces the answer. Only answers of sync agents have it. */
  readonly run?: RunId | undefined;
  /**
   * Yields all updates of the answer, starting with the first one. A reader that stops early does not stop
   * the answer. If the answer failed, the iteration throws the error after the last update.
   */
  updates(): AsyncIterable<Update>;
  /** Resolves with the agent's messages when all of them are complete. */
  messages(): Promise<readonly TaskMessage[]>;
}

export interface SubmitResult {
  readonly offset: number;
  readonly is_repeat: boolean;
}

export interface MessageService {
  list(query: MessageQuery): Promise<ListPage<TaskMessage>>;
  /**
   * Returns a page of messages: newest first for `older`, oldest first for `newer`. `next` is the cursor of
   * the next page.
   */
  page(query: MessagePageQuery): Promise<ListPage<TaskMessage>>;
  get(id: string): Promise<TaskMessage>;
  create(body: bodies.CreateMessage): Promise<TaskMessage>;
  createMany(body: bodies.CreateMessages): Promise<readonly TaskMessage[]>;
  update(id: string, body: bodies.UpdateMessage): Promise<TaskMessage>;
  updateMany(body: bodies.UpdateMessages): Promise<readonly TaskMessage[]>;
}

interface MessageQuery extends PageQuery {
  readonly taskId: string;
  readonly filters: readonly MessageFilter[];
}

interface MessagePageQuery {
  readonly taskId: string;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly direction: 'older' | 'newer';
  readonly filters: readonly MessageFilter[];
}

export interface EventService {
  get(id: string): Promise<TaskEvent>;
  /** Lists events in order of `sequence_id`. */
  list(query: EventQuery): Promise<readonly TaskEvent[]>;
}

interface EventQuery {
  readonly taskId: string;
  readonly agentId: string;
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

export interface StateService {
  create(body: bodies.CreateState): Promise<TaskState>;
  get(id: string): Promise<TaskState>;
  list(query: TaskFilter): Promise<ListPage<TaskState>>;
  update(id: string, body: bodies.UpdateState): Promise<TaskState>;
  /** Deletes a state and returns it. */
  delete(id: string): Promise<TaskState>;
}

export interface TaskFilter extends PageQuery {
  readonly taskId?: string | undefined;
  readonly agentId?: string | undefined;
  /** Returns false for a task whose rows the list omits. Default: the list has the rows of all tasks. */
  readonly isTaskShown?: ((taskId: string) => Promise<boolean>) | undefined;
}

export interface SpanService {
  /** Creates a span. `owner` is the agent that creates it, if the caller has the rights of one agent. */
  create(body: bodies.CreateSpan, owner?: string): Promise<SpanInfo>;
  /** Returns the agent that created a span. Returns undefined if no agent created it. */
  ownerOf(id: string): Promise<string | undefined>;
  get(id: string): Promise<SpanInfo>;
  list(query: SpanQuery): Promise<ListPage<SpanInfo>>;
  update(id: string, body: bodies.UpdateSpan): Promise<SpanInfo>;
}

interface SpanQuery extends PageQuery {
  readonly traceId?: string | undefined;
  readonly taskId?: string | undefined;
}

export interface TrackerService {
  /** Returns a tracker. `id` is the tracker's id or the task's id. */
  get(id: string): Promise<Tracker>;
  list(query: TaskFilter): Promise<ListPage<Tracker>>;
  update(id: string, body: bodies.UpdateTracker): Promise<Tracker>;
}

/**
 * The resources that a caller may access: all resources, the resources of one agent or one task, or the tasks
 * of one user. A user can also use all agents.
 */
export type Scope =
  | { readonly kind: 'all' }
  | { readonly kind: 'agent'; readonly agentId: string }
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'task'; readonly taskId: string };

/** The rights of a caller: the accessible resources, the permission to change them, and the expiry time. */
export interface Grant {
  readonly scope: Scope;
  /** True if the caller may only read. */
  readonly isReadOnly: boolean;
  /** The time at which the grant expires, in milliseconds since 1970. Null if it does not expire. */
  readonly expiresAt: number | null;
  /**
   * True if the caller is the agent itself and uses the key from its registration. False for clients of the
   * agent.
   */
  readonly isAgentKey: boolean;
}

/** The grant of an operator. It gives access to everything and does not expire. */
export const fullGrant: Grant = {
  ...{ scope: { kind: 'all' }, isReadOnly: false, expiresAt: null, isAgentKey: false },
};
