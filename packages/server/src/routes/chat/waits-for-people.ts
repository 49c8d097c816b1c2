import { type FoldState, toArray } from '@millrace/core';

/**
 * Does nothing go on any more before somebody answers? The AI SDK's client sends answers when a stream
 * has ended, so that this is where one has to.
 */
export function waitsForPeople({ run, asked, items }: FoldState): boolean {
  const turn = asked[0]?.turn;
  if (run === undefined || turn === undefined) return false;
  const ours = toArray(items).filter((item) => item.turn === turn);
  if (ours.some(({ kind, finished }) => kind === 'assistant' && finished === undefined))
    return false;
  const parts = ours.flatMap((item) => item.parts.flatMap(({ part }) => part ?? []));
  const settled = new Set<string>(asked.map(({ toolCallId }) => toolCallId));
  for (const part of parts) if (part.kind === 'tool_result') settled.add(part.toolCallId);
  return parts.every((part) => part.kind !== 'tool_call' || settled.has(part.toolCallId));
}
