import { useSyncExternalStore } from 'react';
import type { TaskHandle } from '../task/task-handle.ts';
import type { TaskSnapshot } from '../task/task-snapshot.ts';

/** All of it, as it changes: renders with each piece that comes. For small pages; others select. */
export function useSession(task: TaskHandle): TaskSnapshot {
  return useSyncExternalStore(task.subscribe, task.snapshot, task.snapshot);
}
