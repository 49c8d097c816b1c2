import { type FoldState, findItemOfPart, findOpen, type Part, type PartId } from '@millrace/core';

/** Returns a finished part. */
export function partOf(state: FoldState, partId: PartId): Part | undefined {
  return findItemOfPart(state, partId)?.parts.findLast(({ id }) => id === partId)?.part;
}

/** Returns an open part with the content that it has now. */
export function openPart(state: FoldState, partId: PartId): Part | undefined {
  const open = findOpen(state, partId);
  if (open === undefined) return undefined;
  const { begin, text } = open;
  switch (begin.kind) {
    case 'text':
      return { kind: 'text', text };
    case 'reasoning':
      return { kind: 'reasoning', form: begin.form, text };
    case 'tool_call': {
      const { toolCallId, name } = begin;
      return { kind: 'tool_call', toolCallId, name, arguments: text };
    }
    default:
      return undefined;
  }
}
