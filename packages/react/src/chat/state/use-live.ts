import type { Connection, Task, TaskStatus } from '@millrace/client';
import { useSyncExternalStore } from 'react';
import type { LiveSource } from './live-source.ts';

/** Returns the state of the connection to the server. */
export function useConnection(live: LiveSource): Connection {
  const read = () => live.handle.snapshot().connection;
  return useSyncExternalStore(live.subscribe, read, read);
}

/** Returns true while the connection is lost. The page may then be out of date. */
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

/**
 * Returns the task as the server sent it last. Returns undefined until it arrives for the first
 * time.
 */
export function useTaskRow(live: LiveSource): Task | undefined {
  const read = () => live.handle.snapshot().task;
  return useSyncExternalStore(live.subscribe, read, read);
}

/**
 * Returns true if the session cannot continue, because its stream ended or the task is closed or
 * deleted.
 */
export function useHasEnded(live: LiveSource): boolean {
  const { state } = useConnection(live);
  const row = useTaskRow(live);
  return state === 'ended' || state === 'failed' || isClosed(row?.status);
}

const closed: ReadonlySet<string> = new Set(['CANCELED', 'TERMINATED', 'DELETED']);

/** Returns true if a session with this status accepts no further messages. */
export function isClosed(status: TaskStatus | null | undefined): boolean {
  return closed.has(status ?? '');
}
