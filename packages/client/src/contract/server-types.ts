import type { JsonObject, JsonValue, Stop, Usage } from '@millrace/core';

/** A served agent. */
export interface AgentInfo {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly acp_type: 'sync' | 'async' | 'agentic';
  readonly status: 'Ready' | 'Failed' | 'Unknown' | 'Deleted' | 'Unhealthy' | 'BuildOnly';
  readonly status_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly registered_at: string | null;
  readonly registration_metadata: JsonObject | null;
  readonly agent_input_type: 'text' | 'json' | null;
  readonly production_deployment_id: string | null;
}

/**
 * The kind of an agent. It determines how the client sends messages. Only a `loop` accepts commands while it
 * runs.
 */
export type AgentKind = 'loop' | 'sync' | 'async';

export function kindOf({ acp_type, registration_metadata }: AgentInfo): AgentKind {
  if (registration_metadata?.['kind'] === 'loop') return 'loop';
  return acp_type === 'sync' ? 'sync' : 'async';
}

/** Returns the names of the models between which a message to the agent can choose. */
export function modelsOf({ registration_metadata }: AgentInfo): readonly string[] {
  const models = registration_metadata?.['models'];
  return Array.isArray(models) ? models.filter((name) => typeof name === 'string') : [];
}

/** The status of a task, as stored in the task's row on the server. */
export type TaskStatus =
  | 'RUNNING'
  | 'INTERRUPTED'
  | 'COMPLETED'
  | 'FAILED'
  | 'CANCELED'
  | 'TERMINATED'
  | 'TIMED_OUT'
  | 'DELETED';

/** A task as an entry of a list. Times are ISO 8601. */
export interface TaskSummary {
  readonly id: string;
  readonly name: string | null;
  readonly status: TaskStatus | null;
  readonly status_reason: string | null;
  readonly created_at: string | null;
  readonly updated_at: string | null;
  readonly cleaned_at: string | null;
  readonly task_metadata: JsonObject | null;
}

/** The data that a server stores about a task in addition to its log. */
export interface Task extends TaskSummary {
  readonly params: JsonObject | null;
}

export interface TaskWithAgents extends Task {
  readonly agents: readonly AgentInfo[] | null;
}

/** A summary of a task's current state. The server computes it from the log. */
export interface TaskDigest {
  readonly task_id: string;
  /** The names of the task's agents. */
  readonly agents: readonly string[];
  readonly through: number;
  /**
   * False if the log is too long for one request. The next request continues where the previous one stopped.
   */
  readonly is_whole: boolean;
  /** The state of the task. `waiting` means that a call waits for an approval. */
  readonly state: 'running' | 'waiting' | 'idle';
  /** The time at which the current run started, in milliseconds since 1970. Null if no run is active. */
  readonly running_since: number | null;
  /** The reason why the last run ended. Null if no run has ended. */
  readonly stop: Stop | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Token usage by provider and model. */
  readonly usage: readonly ModelUsage[];
}

/** The usage of one model. `provider` and `model` are null if the agent did not report them. */
export interface ModelUsage {
  readonly provider: string | null;
  readonly model: string | null;
  readonly attempts: number;
  readonly usage: Usage;
}

/** An outline of a task's log with a limited number of segments. The server computes it from the log. */
export interface TaskOutline {
  readonly task_id: string;
  readonly through: number;
  /**
   * False if the log is too long for one request. The next request continues where the previous one stopped.
   */
  readonly is_whole: boolean;
  /** The segments in order. Each segment starts where the previous one ends. */
  readonly segments: readonly OutlineSegment[];
}

/** A range of a log with a summary of its records. */
export interface OutlineSegment {
  /** The offset after which the segment starts. */
  readonly after: number;
  /** The offset of the last record. */
  readonly through: number;
  /** The time of the first record, in milliseconds since 1970. */
  readonly start_time: number;
  readonly end_time: number;
  readonly records: number;
  /** The number of runs, turns and calls that started in the segment. */
  readonly runs: number;
  readonly turns: number;
  readonly calls: number;
  /** The number of failed calls, failed turns and retries. */
  readonly errors: number;
  /** The number of the first turn. 0 if no record belongs to a turn. */
  readonly first_turn: number;
  /** True if no run, turn or question was open before the segment. */
  readonly is_run_start: boolean;
  readonly usage: Usage;
}

/** A model request from the past. The server rebuilds it from the log. */
export interface PastRequest {
  readonly task_id: string;
  readonly turn: number;
  readonly attempt: number;
  /** The provider that received the request. */
  readonly provider: string;
  readonly model: string;
  /** The URL of the request without its query. Null if the provider does not use the network. */
  readonly url: string | null;
  /** The request body. Headers are not included. Null if the body cannot be rebuilt. */
  readonly body: JsonObject | null;
  /** Sentences for the user that describe possible differences from the original request. */
  readonly notes: readonly string[];
}

/** A span: a named part of an agent's work with its start and end. Times are ISO 8601. */
export interface SpanInfo {
  readonly id: string;
  readonly trace_id: string;
  readonly name: string;
  readonly start_time: string;
  readonly end_time: string | null;
  readonly task_id: string | null;
  readonly parent_id: string | null;
  readonly input: JsonValue;
  readonly output: JsonValue;
  readonly data: JsonValue;
}

/** The content of a message to an agent. */
export type MessageContent =
  | {
      readonly type: 'text';
      readonly content: string;
      readonly format?: 'plain' | 'markdown' | 'code';
      readonly attachments?: readonly Attachment[];
    }
  | { readonly type: 'data'; readonly data: JsonObject };

/** A file in a message. `TaskHandle.upload` returns it. */
export interface Attachment {
  readonly file_id: string;
  readonly name: string;
  /** The media type. */
  readonly type: string;
  /** The size in bytes. */
  readonly size: number;
}
