import type { Batch } from '@millrace/core';
import type { Task } from '../wire/task.ts';
import type { Connection } from './connection.ts';

/** Who folds what a stream tells. */
export interface StreamTarget {
  /** All up to here is known; 0: nothing. */
  readonly through: number;
  /** What is there already ends at that offset: until then it only catches up. */
  expect(through: number): void;
  /** Takes a batch, or says that it does not fit. */
  add(batch: Batch): 'taken' | 'gap';
  /** What it has does not fit what the server has: it begins anew. */
  reset(): void;
  setTask(task: Task): void;
  setConnection(connection: Connection): void;
  /** All that came at once was told. */
  flush(): void | Promise<void>;
}
