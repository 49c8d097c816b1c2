import type { Stop, Usage } from '@millrace/core';

/** What a task came to so far: a fold of its log. */
export interface TaskDigest {
  readonly task_id: string;
  /** The names of its agents. */
  readonly agents: readonly string[];
  readonly through: number;
  /** False where the log is so long that the next request reads on. */
  readonly is_whole: boolean;
  /** `waiting`: a call waits for somebody's word. */
  readonly state: 'running' | 'waiting' | 'idle';
  /** In ms since 1970. */
  readonly running_since: number | null;
  /** Why the last run ended. */
  readonly stop: Stop | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** By provider and model; null where the agent did not say. */
  readonly usage: readonly ModelUsage[];
}

export interface ModelUsage {
  readonly provider: string | null;
  readonly model: string | null;
  readonly attempts: number;
  readonly usage: Usage;
}
