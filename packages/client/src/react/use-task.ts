import { useEffect, useMemo } from 'react';
import type { Client } from '../create-client.ts';
import type { TaskHandle } from '../task/task-handle.ts';

/** A task that is connected while it is mounted. It never renders by itself: the other hooks do. */
export function useTask(client: Client, taskId: string): TaskHandle {
  const handle = useMemo(() => client.task(taskId), [client, taskId]);
  useEffect(() => handle.subscribe(() => {}), [handle]);
  return handle;
}
