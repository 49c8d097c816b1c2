import { commandCompletions } from './command-completions.ts';
import type { CompletionSources, Completions } from './completion.ts';
import type { Content } from './editor-state.ts';
import { fileCompletions } from './file-completions.ts';
import { gapAround } from './folds.ts';
import { lineStart } from './lines.ts';
import { openMention } from './mention.ts';

/** What could stand at the cursor: commands and their arguments at the very beginning, files behind an @. */
export function completions(
  content: Content,
  { commands = [], files = [] }: CompletionSources,
): Completions | undefined {
  const { start, text } = beforeCursor(content);
  const command = start === 0 ? commandCompletions(text, commands) : undefined;
  return command ?? shifted(fileCompletions(text, files), start);
}

/** Would files be offered at the cursor, if there were any? */
export function isNamingFile(content: Content): boolean {
  return openMention(beforeCursor(content).text) !== undefined;
}

/** What is on the cursor's line before it, without what is folded. */
function beforeCursor(content: Content): { readonly start: number; readonly text: string } {
  const { text, cursor } = content;
  const start = Math.max(gapAround(content, cursor).start, lineStart(content, cursor));
  return { start, text: text.slice(start, cursor) };
}

function shifted(found: Completions | undefined, by: number): Completions | undefined {
  if (found === undefined) return undefined;
  return { ...found, start: found.start + by, end: found.end + by };
}
