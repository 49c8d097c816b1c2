import { useCallback, useRef, useSyncExternalStore } from 'react';
import type { TaskHandle } from '../task/task-handle.ts';
import type { TaskSnapshot } from '../task/task-snapshot.ts';

/** Something made of the snapshot; renders when it is not the same as before. */
export function useSelection<T>(
  task: TaskHandle,
  select: (snapshot: TaskSnapshot) => T,
  isSame: (a: T, b: T) => boolean = Object.is,
): T {
  const last = useRef<{ readonly value: T } | undefined>(undefined);
  const read = useCallback(() => {
    const value = select(task.snapshot());
    // What is the same is told as the object that was told before.
    if (last.current === undefined || !isSame(last.current.value, value)) last.current = { value };
    return last.current.value;
  }, [task, select, isSame]);
  return useSyncExternalStore(task.subscribe, read, read);
}
