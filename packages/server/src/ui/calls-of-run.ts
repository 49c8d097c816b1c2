import {
  type FoldState,
  findOpen,
  type ItemState,
  type ToolCallId,
  type ToolCallPart,
  toArray,
} from '@millrace/core';

/** The items of the run that goes on, in order. */
export function itemsOfRun({ items, run }: FoldState): readonly ItemState[] {
  return run === undefined ? [] : toArray(items).filter((item) => item.run === run);
}

/** Is the call in the message that streams now? */
export function hasCall(state: FoldState, id: ToolCallId): boolean {
  return itemsOfRun(state).some(({ parts }) =>
    parts.some((slot) => {
      const { part } = slot;
      if (part !== undefined) return part.kind === 'tool_call' && part.toolCallId === id;
      const begin = findOpen(state, slot.id)?.begin;
      return begin?.kind === 'tool_call' && begin.toolCallId === id;
    }),
  );
}

/** The call, of whichever run. */
export function callAnywhere(state: FoldState, id: ToolCallId): ToolCallPart | undefined {
  for (const { parts } of toArray(state.items).toReversed()) {
    for (const { part } of parts) {
      if (part?.kind === 'tool_call' && part.toolCallId === id) return part;
    }
  }
  return undefined;
}
