import type { Connection, Task } from '@millrace/client';
import { useSyncExternalStore } from 'react';
import type { LiveSource } from './live-source.ts';

export function useConnection(live: LiveSource): Connection {
  return useSyncExternalStore(live.subscribe, () => live.handle.snapshot().connection);
}

/** What the server says of the task; undefined until it did. */
export function useTaskRow(live: LiveSource): Task | undefined {
  return useSyncExternalStore(live.subscribe, () => live.handle.snapshot().task);
}
