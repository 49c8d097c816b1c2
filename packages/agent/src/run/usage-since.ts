import { type FoldState, toArray, totalUsage, type Usage } from '@millrace/core';

/** What the attempts used that came after a state of the same session. */
export function usageSince(state: FoldState, before: FoldState): Usage {
  const known = toArray(before.usage).length;
  const since = toArray(state.usage).slice(known);
  return totalUsage({ ...state, usage: { before: undefined, chunk: since } });
}
