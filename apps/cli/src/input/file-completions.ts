import { best } from './best.ts';
import type { CompletionItem, Completions } from './completion.ts';
import { fuzzyScore } from './fuzzy-score.ts';
import { mentionOf, openMention } from './mention.ts';

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
