/** A path that a text names with `@`. */
export interface Mention {
  readonly start: number;
  readonly end: number;
  readonly path: string;
}

/** Behind a space or an opening bracket or quote: an @ inside of a word is none, as in an address. */
const before = String.raw`(?<![^\s([{<'"\x60])`;
const quoted = String.raw`"((?:[^"\\\n]|\\.)*)"`;
// What a sentence goes on with is not part of a path. Where it is, the path can be quoted.
const bare = String.raw`([^\s"]*[^\s"',.;:!?()[\]{}<>\x60])`;
const mentionForm = new RegExp(`${before}@(?:${quoted}|${bare})`, 'g');
const openForm = new RegExp(String.raw`${before}@(?:"((?:[^"\\\n]|\\.)*)|([^\s"]*))$`);

/** The paths that a text names: `@src/main.ts`, `@"a name with spaces.txt"`. */
export function mentionsIn(text: string): readonly Mention[] {
  return [...text.matchAll(mentionForm)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    path: match[1] === undefined ? (match[2] ?? '') : unescaped(match[1]),
  }));
}

/** The mention that is being typed at the end of a text. */
export function openMention(text: string): Mention | undefined {
  const match = openForm.exec(text);
  if (match === null) return undefined;
  const path = match[1] === undefined ? (match[2] ?? '') : unescaped(match[1]);
  return { start: match.index, end: text.length, path };
}

/** A path as it is written into a text. */
export function mentionOf(path: string): string {
  return /[\s"'\\]/.test(path) ? `@"${path.replaceAll(/["\\]/g, '\\$&')}"` : `@${path}`;
}

function unescaped(quotedPath: string): string {
  return quotedPath.replaceAll(/\\(.)/g, '$1');
}
