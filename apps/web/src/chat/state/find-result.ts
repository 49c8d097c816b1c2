import type { FoldState, ItemState, PartId, Sequence } from '@millrace/core';

type Results = ReadonlyMap<string, PartId>;

// Of a stretch of items that did not change it is known already.
const known = new WeakMap<readonly ItemState[], Results>();

/** The part that has, or will have, the result of a tool call. */
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
