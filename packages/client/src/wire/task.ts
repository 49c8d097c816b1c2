import type { JsonObject } from '@millrace/core';
import type { AgentInfo } from './agent-info.ts';

export type TaskStatus =
  | 'RUNNING'
  | 'INTERRUPTED'
  | 'COMPLETED'
  | 'FAILED'
  | 'CANCELED'
  | 'TERMINATED'
  | 'TIMED_OUT'
  | 'DELETED';

/** As lists have it. Times are ISO 8601. */
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

/** What a server says of a task besides what happens in it. */
export interface Task extends TaskSummary {
  readonly params: JsonObject | null;
}

export interface TaskWithAgents extends Task {
  readonly agents: readonly AgentInfo[] | null;
}
