/** The names of the tags that mark kept texts in a summary. */
type KeptTag = 'open_tasks' | 'first_request' | 'current_request';

/**
 * Returns the text with its tags that an earlier compaction added to a summary. Kept texts are at the end of a
 * summary, so the last one counts. The model can repeat or invent such a text only before it.
 */
export function keptText(summary: string, tag: KeptTag): string | undefined {
  const [open, close] = [`<${tag}>`, `</${tag}>`];
  const start = summary.lastIndexOf(open);
  const end = summary.indexOf(close, start);
  return start === -1 || end === -1 ? undefined : summary.slice(start, end + close.length);
}

/** Changes the tags in a text, so that the text cannot end its own tag or imitate a different one. */
export function withoutTags(text: string): string {
  return text.replaceAll(/<(\/?)(open_tasks|first_request|current_request)>/g, '<$1 $2>');
}
