import type { CompletionItem, Completions } from './completion.ts';
import { best, fuzzyScore } from './fuzzy-search.ts';

/** More than anybody reads; the rest is found by typing on. */
const maxItems = 50;

interface Candidate {
  readonly path: string;
  readonly lower: string;
  readonly depth: number;
}

/** Files, and the folders that they are in, by name, each with what it is compared by: made once for a list. */
const candidatesOf = new WeakMap<readonly string[], readonly Candidate[]>();

/** What the mention before the cursor may mean. */
export function fileCompletions(
  textBefore: string,
  files: readonly string[],
): Completions | undefined {
  const mention = openMention(textBefore);
  if (mention === undefined) return undefined;
  const items = ranked(candidates(files), mention.path).map(itemOf);
  if (items.length === 0) return undefined;
  return { start: mention.start, end: mention.end, items };
}

function itemOf(path: string): CompletionItem {
  const isFolder = path.endsWith('/');
  const mention = mentionOf(path);
  // A folder is seldom all that is meant: what follows goes on inside of it.
  const insert = isFolder ? mention.replace(/"$/, '') : `${mention} `;
  return { kind: isFolder ? 'folder' : 'file', label: path, insert, isComplete: false };
}

function ranked(all: readonly Candidate[], typed: string): readonly string[] {
  const wanted = typed.toLowerCase().replace(/^\.\//, '');
  // With nothing typed, what is at the top is likelier meant than what is deep.
  const scoreOf = ({ lower, depth }: Candidate) =>
    wanted === '' ? -depth : fuzzyScore(lower, wanted);
  return best(all, scoreOf, maxItems).map(({ path }) => path);
}

function candidates(files: readonly string[]): readonly Candidate[] {
  const known = candidatesOf.get(files);
  if (known !== undefined) return known;
  const made = [...foldersOf(files), ...files].sort().map((path) => ({
    path,
    lower: path.toLowerCase(),
    depth: path.slice(0, -1).split('/').length,
  }));
  candidatesOf.set(files, made);
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

/** A path that a text names with `@`. */
interface Mention {
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
