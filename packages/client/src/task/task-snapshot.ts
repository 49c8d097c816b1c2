import type { AskedApproval, FoldState } from '@millrace/core';
import type { Connection } from '../stream/connection.ts';
import type { Task } from '../wire/task.ts';
import type { LiveItem } from './live-item.ts';

/** A task at one moment. Never changed: what is new is in the next one, which shares all else. */
export interface TaskSnapshot {
  readonly connection: Connection;
  /** What the server says of it; undefined until it did. */
  readonly task: Task | undefined;
  /** The live transcript. Items that did not change are the same objects as before. */
  readonly items: readonly LiveItem[];
  /** Calls that wait for somebody's word. */
  readonly approvals: readonly AskedApproval[];
  /** What was there before is still being read: more of it comes at once. */
  readonly isCatchingUp: boolean;
  /** A run goes on. */
  readonly isRunning: boolean;
  /** All that the log says so far, for core's functions, such as `totalUsage`. */
  readonly state: FoldState;
}
