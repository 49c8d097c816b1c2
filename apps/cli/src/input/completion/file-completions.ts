import type { CompletionItem, Completions } from './completion.ts';
import { fuzzyScore, topScored } from './fuzzy-search.ts';

/** Maximum number of items. To find further files, the user can type more. */
const maxItems = 50;

interface Candidate {
  readonly path: string;
  readonly lower: string;
  readonly depth: number;
}

/**
 * Caches the files and folders of each list. They are sorted by name and have the values for the
 * ranking.
 */
const candidateCache = new WeakMap<readonly string[], readonly Candidate[]>();

/** Returns the completions of the `@` mention before the cursor. */
export function fileCompletions(
  textBefore: string,
  files: readonly string[],
): Completions | undefined {
  const mention = openMention(textBefore);
  if (mention === undefined) return undefined;
  const items = rankPaths(candidates(files), mention.path).map(itemOf);
  if (items.length === 0) return undefined;
  return { start: mention.start, end: mention.end, items };
}

function itemOf(path: string): CompletionItem {
  const isFolder = path.endsWith('/');
  const mention = mentionOf(path);
  // After a folder, the user usually types a further path segment. So the mention stays open.
  const insert = isFolder ? mention.replace(/"$/, '') : `${mention} `;
  return { kind: isFolder ? 'folder' : 'file', label: path, insert, isComplete: false };
}

function rankPaths(all: readonly Candidate[], typed: string): readonly string[] {
  // The list has `/` also on Windows, where users type `\\` too.
  const wanted = typed.toLowerCase().replaceAll('\\', '/').replace(/^\.\//, '');
  // If the user has typed nothing, files near the root come first.
  const scoreOf = ({ lower, depth }: Candidate) =>
    wanted === '' ? -depth : fuzzyScore(lower, wanted);
  return topScored(all, scoreOf, maxItems).map(({ path }) => path);
}

function candidates(files: readonly string[]): readonly Candidate[] {
  const known = candidateCache.get(files);
  if (known !== undefined) return known;
  const made = [...foldersOf(files), ...files].sort().map((path) => ({
    path,
    lower: path.toLowerCase(),
    depth: path.slice(0, -1).split('/').length,
  }));
  candidateCache.set(files, made);
  return made;
}

function foldersOf(files: readonly string[]): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const file of files) {
    let slash = file.lastIndexOf('/');
    while (slash > 0) {
      const folder = file.slice(0, slash + 1);
      if (folders.has(folder)) break;
      folders.add(folder);
      slash = file.lastIndexOf('/', slash - 1);
    }
  }
  return folders;
}

/** A path that a text mentions with `@`. */
interface Mention {
  readonly start: number;
  readonly end: number;
  readonly path: string;
}

/**
 * Matches a position at which an `@` can start a mention: after a space, an opening bracket or a
 * quote. So the `@` in an email address does not match.
 */
const notInWord = String.raw`(?<![^\s([{<'"\x60])`;
const quoted = String.raw`"((?:[^"\\\n]|\\.)*)"`;
// Punctuation at the end belongs to the sentence, not to the path. If a path ends with punctuation,
// the user must quote it.
const unquoted = String.raw`([^\s"]*[^\s"',.;:!?()[\]{}<>\x60])`;
const mentionForm = new RegExp(`${notInWord}@(?:${quoted}|${unquoted})`, 'g');
const openForm = new RegExp(String.raw`${notInWord}@(?:"((?:[^"\\\n]|\\.)*)|([^\s"]*))$`);

/**
 * Returns the paths that a text mentions, such as `@src/main.ts` or `@"a name with spaces.txt"`.
 */
export function mentionsIn(text: string): readonly Mention[] {
  return [...text.matchAll(mentionForm)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    path: match[1] === undefined ? (match[2] ?? '') : unescapePath(match[1]),
  }));
}

/** Returns the unfinished mention at the end of a text. */
export function openMention(text: string): Mention | undefined {
  const match = openForm.exec(text);
  if (match === null) return undefined;
  const path = match[1] === undefined ? (match[2] ?? '') : unescapePath(match[1]);
  return { start: match.index, end: text.length, path };
}

/** Formats a path as a mention. Paths with spaces or quotes are put in quotes. */
export function mentionOf(path: string): string {
  return /[\s"'\\]/.test(path) ? `@"${path.replaceAll(/["\\]/g, '\\$&')}"` : `@${path}`;
}

/** Removes the escapes of `mentionOf`. Other backslashes stay, because they separate folders on Windows. */
function unescapePath(quotedPath: string): string {
  return quotedPath.replaceAll(/\\(["\\])/g, '$1');
}
