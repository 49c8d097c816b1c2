import type { ItemId, Part, PartId } from '@millrace/core';
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import type { LiveItem, TaskHandle, TaskSnapshot } from '../contract/task-handle.ts';
import type { Client } from '../create-client.ts';

/**
 * Returns the handle of a task and keeps it connected while the component is mounted. This hook never causes
 * a render. Use the other hooks of this module to read the task.
 */
export function useTask(client: Client, taskId: string): TaskHandle {
  const handle = useMemo(() => client.task(taskId), [client, taskId]);
  useEffect(() => handle.subscribe(() => {}), [handle]);
  return handle;
}

/**
 * Returns the complete snapshot. The component renders after each change, including each streamed text
 * fragment. Use it for small pages, and `useSelection` for large pages.
 */
export function useSession(task: TaskHandle): TaskSnapshot {
  return useSyncExternalStore(task.subscribe, task.snapshot, task.snapshot);
}

/**
 * Returns a value that `select` computes from the snapshot. The component renders only when this value
 * changes.
 */
export function useSelection<T>(
  task: TaskHandle,
  select: (snapshot: TaskSnapshot) => T,
  isSame: (a: T, b: T) => boolean = Object.is,
): T {
  const last = useRef<{ readonly value: T } | undefined>(undefined);
  const read = useCallback(() => {
    const value = select(task.snapshot());
    // If the new value is equal, the hook returns the previous object.
    if (last.current === undefined || !isSame(last.current.value, value)) last.current = { value };
    return last.current.value;
  }, [task, select, isSame]);
  return useSyncExternalStore(task.subscribe, read, read);
}

const none: readonly PartId[] = [];

/** Returns the ids of the items. The component renders when an item is added or removed. */
export function useItemIds(task: TaskHandle): readonly ItemId[] {
  return useRead(
    task,
    useCallback(() => task.itemIds, [task]),
  );
}

/** Returns an item. The component renders when the item changes, including each streamed text fragment. */
export function useItem(task: TaskHandle, id: ItemId): LiveItem | undefined {
  return useRead(
    task,
    useCallback(() => task.item(id), [task, id]),
  );
}

/**
 * Returns the ids of the item's parts. The component renders when a part is added or removed, but not while
 * a part streams.
 */
export function usePartIds(task: TaskHandle, id: ItemId): readonly PartId[] {
  return useRead(
    task,
    useCallback(() => task.item(id)?.partIds ?? none, [task, id]),
  );
}

/**
 * Returns a part. The component renders after each streamed fragment of this part, and not after the part has
 * ended.
 */
export function usePart(task: TaskHandle, id: PartId): Part | undefined {
  return useRead(
    task,
    useCallback(() => task.part(id), [task, id]),
  );
}

function useRead<T>(task: TaskHandle, read: () => T): T {
  return useSyncExternalStore(task.subscribe, read, read);
}
