import type { FoldState, ItemState, PartId, Sequence } from '@millrace/core';

/** The part of a tool call; those that are spoken of are mostly the newest. */
export function findCall({ items }: FoldState, toolCallId: string): PartId | undefined {
  for (let at: Sequence<ItemState> | undefined = items; at !== undefined; at = at.before) {
    for (const { parts } of at.chunk.toReversed()) {
      const found = parts.find(
        ({ part }) => part?.kind === 'tool_call' && part.toolCallId === toolCallId,
      );
      if (found !== undefined) return found.id;
    }
  }
  return undefined;
}
