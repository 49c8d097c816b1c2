import type { Attempt, JsonObject, RunId, TraceContext } from '@millrace/core';
import type { PastRequestInfo } from './inspection.ts';
import type { TaskMessage, Update } from './message.ts';
import type * as bodies from './request-bodies.ts';
import type { Command, MessageFilter } from './request-bodies.ts';
import type {
  AgentInfo,
  SpanInfo,
  Task,
  TaskEvent,
  TaskResponse,
  TaskState,
  TaskStatus,
  TaskSummary,
  Tracker,
} from './task.ts';

/**
 * What the routes ask for, in the words of the wire. Every refusal is a `ServerError`: `not_found` for
 * whatever is unknown or deleted, `bad_state` for what its state does not allow, `conflict` for what
 * somebody else changed, `agent_failed` for a handler that threw.
 */
export interface TaskService {
  readonly agents: AgentService;
  readonly tasks: TasksService;
  readonly messages: MessageService;
  readonly events: EventService;
  readonly states: StateService;
  readonly spans: SpanService;
  readonly trackers: TrackerService;
}

/** A thing by its id, or by its name. */
export type Ref = { readonly id: string } | { readonly name: string };

/** A part of a list. `cursor` (from `next`) comes before `pageNumber`, which counts from 1. */
export interface PageQuery {
  readonly limit: number;
  readonly pageNumber: number;
  readonly cursor?: string | undefined;
  readonly orderBy: 'created_at' | 'updated_at';
  readonly direction: 'asc' | 'desc';
}

export interface ListPage<T> {
  readonly data: readonly T[];
  /** Where the list goes on; null at its end. */
  readonly next: string | null;
}

export interface DeleteResult {
  readonly id: string;
  readonly message: string;
}

export interface AgentService {
  /** Those of a task, or all; without those that were deleted. */
  list(query: PageQuery & { readonly taskId?: string | undefined }): Promise<ListPage<AgentInfo>>;
  get(ref: Ref): Promise<AgentInfo>;
  delete(id: string): Promise<DeleteResult>;
  registerBuild(body: bodies.RegisterBuild): Promise<AgentInfo>;
  /** Makes it, or takes the place of the one that has its name. The key is told this once. */
  register(body: bodies.RegisterAgent): Promise<AgentInfo & { readonly agent_api_key: string }>;
}

/** What came with a request that begins work. */
export interface RequestMetadata {
  /** The same again counts once. */
  readonly key?: string | undefined;
  /** What the work is part of. */
  readonly trace?: TraceContext | undefined;
}

export interface TasksService {
  /**
   * A name that is known gives that task, its params replaced where some are given. The same key again
   * gives the task that it made, as it is now.
   */
  create(agentId: string, body: bodies.CreateTask, sent?: RequestMetadata): Promise<Task>;
  /**
   * Stores the message and begins to answer it. Makes a task where neither id nor name is known or given.
   * The same key again gives the answer that there is, whatever became of the task since.
   */
  sendMessage(agentId: string, body: bodies.SendMessage, sent?: RequestMetadata): Promise<Answer>;
  /** The same key again gives the event that it made. `task_id` or `task_name` is given. */
  sendEvent(agentId: string, body: bodies.SendEvent, sent?: RequestMetadata): Promise<TaskEvent>;
  /** Leaves it for the agent loop that drives the task. */
  submit(taskId: string, command: Command, sent?: RequestMetadata): Promise<SubmitResult>;
  /** A copy of what was before an item, which an agent loop goes on with. */
  fork(taskId: string, body: bodies.ForkTask, sent?: Pick<RequestMetadata, 'trace'>): Promise<Task>;
  get(ref: Ref): Promise<TaskResponse>;
  /** What an agent loop asked its model, made again from the log. */
  request(taskId: string, at: Attempt): Promise<PastRequestInfo>;
  list(query: TaskQuery): Promise<ListPage<TaskSummary>>;
  update(id: string, body: bodies.UpdateTask): Promise<Task>;
  delete(id: string): Promise<DeleteResult>;
  /** What goes on is stopped. `bad_state` where it is closed already; interrupting it twice is fine. */
  change(id: string, change: TaskChange, reason?: string): Promise<Task>;
}

export type TaskChange = 'complete' | 'fail' | 'cancel' | 'interrupt' | 'terminate' | 'timeout';

export interface TaskQuery extends PageQuery {
  readonly agentId?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** All of these have to be in the task's metadata. */
  readonly metadata?: JsonObject | undefined;
  /** It is in the task's title, name or id, in whatever case. */
  readonly search?: string | undefined;
}

/** Two views of one answer; it goes on whether or not somebody looks. */
export interface Answer {
  readonly taskId: string;
  /** The run that is it, where it is one: a sync agent's. */
  readonly run?: RunId | undefined;
  /** From the answer's first update on. Leaving it stops nothing; throws what the answer failed with at its end. */
  updates(): AsyncIterable<Update>;
  /** The agent's messages, when all are done. */
  messages(): Promise<readonly TaskMessage[]>;
}

export interface SubmitResult {
  readonly offset: number;
  readonly is_repeat: boolean;
}

export interface MessageService {
  list(query: MessageQuery): Promise<ListPage<TaskMessage>>;
  /** Newest first for `older`, oldest first for `newer`; `next` is the cursor. */
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
  /** In order of `sequence_id`. */
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
  /** What it was. */
  delete(id: string): Promise<TaskState>;
}

interface TaskFilter extends PageQuery {
  readonly taskId?: string | undefined;
  readonly agentId?: string | undefined;
}

export interface SpanService {
  create(body: bodies.CreateSpan): Promise<SpanInfo>;
  get(id: string): Promise<SpanInfo>;
  list(query: SpanQuery): Promise<ListPage<SpanInfo>>;
  update(id: string, body: bodies.UpdateSpan): Promise<SpanInfo>;
}

interface SpanQuery extends PageQuery {
  readonly traceId?: string | undefined;
  readonly taskId?: string | undefined;
}

export interface TrackerService {
  /** By its own id, or by that of the task. */
  get(id: string): Promise<Tracker>;
  list(query: TaskFilter): Promise<ListPage<Tracker>>;
  update(id: string, body: bodies.UpdateTracker): Promise<Tracker>;
}

/** What whoever asks may touch: all, or what belongs to one agent or to one task. */
export type Scope =
  | { readonly kind: 'all' }
  | { readonly kind: 'agent'; readonly agentId: string }
  | { readonly kind: 'task'; readonly taskId: string };

export const fullScope: Scope = { kind: 'all' };
