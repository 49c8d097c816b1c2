import type { Connection, Task } from '@millrace/client';
import { useSyncExternalStore } from 'react';
import { useListedTask } from '../../app/app-context.ts';
import { isClosed, taskTitle } from '../../app/task-text.ts';
import type { LiveSource } from './live-source.ts';

export function useConnection(live: LiveSource): Connection {
  return useSyncExternalStore(live.subscribe, () => live.handle.snapshot().connection);
}

/** Returns true while the connection is lost, so that the page may be out of date. */
export function useIsOffline(live: LiveSource): boolean {
  const connection = useConnection(live);
  switch (connection.state) {
    case 'retrying':
    case 'failed':
      return true;
    case 'connecting':
      return connection.failures > 0;
    case 'live':
    case 'ended':
      return false;
  }
}

/** Returns the task as the server reported it last. Returns undefined until the first report. */
export function useTaskRow(live: LiveSource): Task | undefined {
  return useSyncExternalStore(live.subscribe, () => live.handle.snapshot().task);
}

/**
 * Returns true if the session cannot continue: its stream ended, or the task is closed or deleted.
 */
export function useHasEnded(live: LiveSource): boolean {
  const { state } = useConnection(live);
  const row = useTaskRow(live);
  return state === 'ended' || state === 'failed' || isClosed(row?.status);
}

/**
 * Returns the title of a session. It comes from the session's stream, or from the list until the
 * stream has sent it.
 */
export function useTaskTitle(live: LiveSource): string {
  const listed = useListedTask(live.id);
  const task = useTaskRow(live) ?? listed;
  return task === undefined ? 'Session' : taskTitle({ ...listed, ...task });
}
