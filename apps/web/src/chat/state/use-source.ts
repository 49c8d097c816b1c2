import type { LiveItem } from '@millrace/client';
import type { ItemId, Part, PartId } from '@millrace/core';
import { useCallback, useRef, useSyncExternalStore } from 'react';
import type { CallFacts } from './call-facts.ts';
import type { ChatSource } from './chat-source.ts';
import { findResult } from './find-result.ts';

/** Something read from the source; renders when it is not the same as before. */
export function useRead<T>(source: ChatSource, read: (source: ChatSource) => T): T {
  const get = useCallback(() => read(source), [source, read]);
  return useSyncExternalStore(source.subscribe, get, get);
}

/** What an item is, without what streams in it. */
export type ItemHead = Omit<LiveItem, 'parts'>;

/** Renders when something else changes than the content of its parts. */
export function useItemHead(source: ChatSource, id: ItemId): ItemHead | undefined {
  const last = useRef<ItemHead | undefined>(undefined);
  const read = useCallback(
    (from: ChatSource) => {
      const item = from.item(id);
      if (item === undefined || last.current === undefined || !isSame(last.current, item))
        last.current = item;
      return last.current;
    },
    [id],
  );
  return useRead(source, read);
}

function isSame(a: ItemHead, b: ItemHead): boolean {
  return (
    a.id === b.id &&
    isSameList(a.partIds, b.partIds) &&
    a.isOpen === b.isOpen &&
    a.stop === b.stop &&
    a.redacted === b.redacted
  );
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((entry, at) => entry === b[at]));
}

/** Renders with each piece while it streams, and never after its end. */
export function usePart(source: ChatSource, id: PartId | undefined): Part | undefined {
  const read = useCallback(
    (from: ChatSource) => (id === undefined ? undefined : from.part(id)),
    [id],
  );
  return useRead(source, read);
}

export function useResult(source: ChatSource, toolCallId: string): Part | undefined {
  const read = useCallback((from: ChatSource) => findResult(from.state, toolCallId), [toolCallId]);
  return usePart(source, useRead(source, read));
}

export function useCallFacts(source: ChatSource, toolCallId: string): CallFacts | undefined {
  return useRead(
    source,
    useCallback((from: ChatSource) => from.facts.call(toolCallId), [toolCallId]),
  );
}
