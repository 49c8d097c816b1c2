import type { Connection, Task } from '@millrace/client';
import { useSyncExternalStore } from 'react';
import { useListedTask } from '../../app/app-context.ts';
import { isClosed, taskTitle } from '../../app/task-text.ts';
import type { LiveSource } from './live-source.ts';

export function useConnection(live: LiveSource): Connection {
  return useSyncExternalStore(live.subscribe, () => live.handle.snapshot().connection);
}

/** What the server says of the task; undefined until it did. */
export function useTaskRow(live: LiveSource): Task | undefined {
  return useSyncExternalStore(live.subscribe, () => live.handle.snapshot().task);
}

/** Nothing more comes of it, whatever its log said last: its end was told, or it is gone. */
export function useHasEnded(live: LiveSource): boolean {
  const { state } = useConnection(live);
  const row = useTaskRow(live);
  return state === 'ended' || state === 'failed' || isClosed(row?.status);
}

/** What a session is called, by its own stream or, until that says so, by the list. */
export function useTaskTitle(live: LiveSource): string {
  const listed = useListedTask(live.id);
  const task = useTaskRow(live) ?? listed;
  return task === undefined ? 'Session' : taskTitle({ ...listed, ...task });
}
