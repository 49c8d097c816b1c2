/** From where to where a line differs from another. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

export interface Change {
  readonly before: Part;
  readonly after: Part;
}

/** What is longer is not compared word by word. */
const maxLine = 2_000;
const words = /[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu;

/** What changed within a line, in whole words; nothing if hardly anything stayed the same. */
export function changedPart(before: string, after: string): Change | undefined {
  if (before.length > maxLine || after.length > maxLine) return undefined;
  const [old, now] = [before.match(words) ?? [], after.match(words) ?? []];
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) start++;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const head = old.slice(0, start).join('').length;
  const tail = old.slice(old.length - end).join('').length;
  const same =
    before.slice(0, head).trim().length + before.slice(before.length - tail).trim().length;
  if (same * 3 < Math.max(before.trim().length, after.trim().length)) return undefined;
  return {
    before: { from: head, to: before.length - tail },
    after: { from: head, to: after.length - tail },
  };
}
