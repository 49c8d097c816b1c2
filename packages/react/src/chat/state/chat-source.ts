import type { LiveItem } from '@millrace/client';
import type {
  AskedApproval,
  FoldState,
  ItemId,
  ItemState,
  Part,
  PartId,
  Sequence,
} from '@millrace/core';
import { useCallback, useLayoutEffect, useReducer, useRef } from 'react';
import type { CallFacts, ChatFacts } from './fact-index.ts';

/**
 * The data of the chat: a task in its current state, or in its state at an earlier record. Values
 * that did not change stay the same objects, so that only changed components render.
 */
export interface ChatSource {
  readonly id: string;
  /**
   * Calls the listener after each change. Returns a function that unsubscribes. The method can be
   * called without its object.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /** The ids of all items. The array stays the same object until an item is added or removed. */
  readonly itemIds: readonly ItemId[];
  readonly state: FoldState;
  readonly facts: ChatFacts;
  /** Returns an item. It is the same object until the item changes. */
  item(id: ItemId): LiveItem | undefined;
  /** Returns a part. It is the same object until the part changes. */
  part(id: PartId): Part | undefined;
  /** Returns the bytes of a blob that a part references. */
  blob(hash: string): Promise<Blob>;
}

/**
 * Reads a value from the source. The component renders when the value changes. A new component
 * subscribes before the browser paints it. With `useSyncExternalStore`, Preact subscribes after the
 * paint, and a new row could then show an older state than the row below it.
 */
export function useSourceValue<T>(source: ChatSource, read: (source: ChatSource) => T): T {
  const value = read(source);
  const shown = useRef(value);
  const [, render] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    shown.current = value;
  });
  useLayoutEffect(() => {
    const onChange = () => {
      if (!Object.is(read(source), shown.current)) render();
    };
    onChange();
    return source.subscribe(onChange);
  }, [source, read]);
  return value;
}

/**
 * Returns true if the session has unfinished work. Examples: a run is in progress, or it waits for
 * an approval or for a client.
 */
export function isUnfinished({ state: { run, asked, awaited } }: ChatSource): boolean {
  return run !== undefined || asked.length > 0 || awaited.length > 0;
}

/** An item without the content of its parts. */
export type ItemHead = Omit<LiveItem, 'parts'>;

/**
 * Returns an item without the content of its parts. The component renders when the item changes,
 * but not when the content of its parts changes.
 */
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
  return useSourceValue(source, read);
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

/**
 * Returns a part. The component renders with each delta while the part streams, and never after the
 * part's end.
 */
export function usePart(source: ChatSource, id: PartId | undefined): Part | undefined {
  const read = useCallback(
    (from: ChatSource) => (id === undefined ? undefined : from.part(id)),
    [id],
  );
  return useSourceValue(source, read);
}

export function useResult(source: ChatSource, toolCallId: string): Part | undefined {
  const read = useCallback((from: ChatSource) => findResult(from.state, toolCallId), [toolCallId]);
  return usePart(source, useSourceValue(source, read));
}

export function useCallFacts(source: ChatSource, toolCallId: string): CallFacts | undefined {
  return useSourceValue(
    source,
    useCallback((from: ChatSource) => from.facts.call(toolCallId), [toolCallId]),
  );
}

/**
 * Returns the id of the part with the call that waits for an approval. Several items can contain
 * the same call id, but only the call in the attempt that asked will run. Returns undefined for a
 * call of a sub-agent, because its log is a separate one.
 */
export function findCall({ items }: FoldState, asked: AskedApproval): PartId | undefined {
  const { toolCallId, turn, attempt, from } = asked;
  if (from !== undefined) return undefined;
  for (let at: Sequence<ItemState> | undefined = items; at !== undefined; at = at.before) {
    for (const item of at.chunk.toReversed()) {
      if (item.turn !== turn || item.attempt !== attempt) continue;
      const found = item.parts.find(
        ({ part }) => part?.kind === 'tool_call' && part.toolCallId === toolCallId,
      );
      if (found !== undefined) return found.id;
    }
  }
  return undefined;
}

type Results = ReadonlyMap<string, PartId>;

// Caches the tool results of each chunk of items. A chunk never changes.
const known = new WeakMap<readonly ItemState[], Results>();

/**
 * Returns the id of the part with the result of a tool call. The result may still be incomplete.
 */
export function findResult({ items, open }: FoldState, toolCallId: string): PartId | undefined {
  const streaming = open.findLast(
    ({ begin }) => begin.kind === 'tool_result' && begin.toolCallId === toolCallId,
  );
  if (streaming !== undefined) return streaming.id;
  for (let at: Sequence<ItemState> | undefined = items; at !== undefined; at = at.before) {
    const found = resultsIn(at.chunk).get(toolCallId);
    if (found !== undefined) return found;
  }
  return undefined;
}

function resultsIn(chunk: readonly ItemState[]): Results {
  const before = known.get(chunk);
  if (before !== undefined) return before;
  const results = new Map<string, PartId>();
  for (const { parts } of chunk)
    for (const { id, part } of parts)
      if (part?.kind === 'tool_result') results.set(part.toolCallId, id);
  known.set(chunk, results);
  return results;
}
