import type { RunUnasked } from '../../contract/agent.ts';
import { mentionsIn } from '../completion/file-completions.ts';
import { attachedPart } from './attached-resource.ts';
import { isPicturePath } from './mentioned-pictures.ts';

/** Maximum number of files that one message attaches. */
const maxFiles = 10;
/** Maximum length of all attached texts of a message. The model reads the rest with its tools. */
const maxLength = 60_000;

/**
 * Reads the files and the folders that a text mentions, such as `@src/main.ts`. Returns a part of a message for each
 * of them. The agent's tools read them, so the rules of the session apply. A mention that these do not allow, or that
 * names no file, stays text.
 */
export async function readMentionedFiles(
  text: string,
  run: RunUnasked,
): Promise<readonly string[]> {
  const mentioned = new Set(mentionsIn(text).map(({ path }) => path));
  const paths = [...mentioned].filter((path) => path !== '' && !isPicturePath(path));
  const parts: string[] = [];
  let left = maxLength;
  for (const path of paths.slice(0, maxFiles)) {
    const content = (await run('read', { path })) ?? (await run('ls', { path }));
    if (content === undefined) continue;
    if (left <= 0) break;
    parts.push(attachedPart({ uri: path, text: clip(content, left) }));
    left -= content.length;
  }
  return parts;
}

function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length).toWellFormed()}\n(The text goes on. Use the tool read for the rest.)`;
}
