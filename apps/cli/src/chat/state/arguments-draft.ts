/** What is known of a call's arguments while the model writes them: how they begin, and their end so far. */
export interface ArgumentsDraft {
  readonly head: string;
  /** What came after the head, or the last of it. */
  readonly tail: string;
  readonly length: number;
}

export const emptyDraft: ArgumentsDraft = { head: '', tail: '', length: 0 };

const headLength = 1024;
const tailLength = 1024;

/** Costs as much as what is added, however long the arguments are. */
export function appendArguments(draft: ArgumentsDraft, more: string): ArgumentsDraft {
  const room = Math.max(0, headLength - draft.head.length);
  const head = room === 0 ? draft.head : draft.head + more.slice(0, room);
  const tail = draft.tail + more.slice(room);
  const isLong = tail.length > 2 * tailLength;
  const length = draft.length + more.length;
  return { head, tail: isLong ? tail.slice(-tailLength) : tail, length };
}
