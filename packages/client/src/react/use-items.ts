import type { ItemId, Part, PartId } from '@millrace/core';
import { useCallback, useSyncExternalStore } from 'react';
import type { LiveItem } from '../task/live-item.ts';
import type { TaskHandle } from '../task/task-handle.ts';

const none: readonly PartId[] = [];

/** Renders when an item comes or goes. */
export function useItemIds(task: TaskHandle): readonly ItemId[] {
  return useRead(
    task,
    useCallback(() => task.itemIds, [task]),
  );
}

/** Renders when this item changes, with each piece of what streams in it. */
export function useItem(task: TaskHandle, id: ItemId): LiveItem | undefined {
  return useRead(
    task,
    useCallback(() => task.item(id), [task, id]),
  );
}

/** Renders when a part of this item comes or goes, and not while one streams. */
export function usePartIds(task: TaskHandle, id: ItemId): readonly PartId[] {
  return useRead(
    task,
    useCallback(() => task.item(id)?.partIds ?? none, [task, id]),
  );
}

/** Renders when this part changes: with each piece while it streams, and never after its end. */
export function usePart(task: TaskHandle, id: PartId): Part | undefined {
  return useRead(
    task,
    useCallback(() => task.part(id), [task, id]),
  );
}

function useRead<T>(task: TaskHandle, read: () => T): T {
  return useSyncExternalStore(task.subscribe, read, read);
}
