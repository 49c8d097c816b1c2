import { statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { isInside } from './config-paths.ts';

/** Maximum number of files and folders that are searched for scripts. */
const maxSearched = 50_000;
/** Maximum number of paths that the words of all commands can name. */
const maxCandidates = 50_000;
/** Maximum number of folders from which the words of a command are resolved. */
const maxBases = 16;

interface At {
  /** The real path of the repository root. */
  readonly root: string;
  readonly cwd: string;
}

/** A command line of a project. */
export interface ProjectCommand {
  readonly command: string;
  /** The folder that `CLAUDE_PROJECT_DIR` names. Paths can be relative to it, or to the working folder. */
  readonly projectFolder: string;
}

/**
 * Finds the files of a project that command lines name. The real path of a file that is a link is included.
 * Returns undefined if the commands have too many words, or if the project has too many files to search.
 */
export async function findNamedScripts(
  commands: readonly ProjectCommand[],
  at: At,
  others: readonly string[] = [],
): Promise<readonly string[] | undefined> {
  const candidates = new Set(others);
  const patterns: FilePattern[] = [];
  for (const { command, projectFolder } of commands) {
    const words = wordsOf(command, projectFolder, at);
    const named = await namedFiles(words, [...new Set([projectFolder, at.cwd])], candidates);
    if (!named) return undefined;
    patterns.push(...patternsOf(words, command));
  }
  const searched = patterns.length === 0 ? [] : await searchFiles(at.root, patterns);
  if (searched === undefined) return undefined;
  const all = [...new Set([...candidates, ...searched])];
  const areFiles = await Promise.all(all.map(isFile));
  const files = all.filter((_, index) => areFiles[index]);
  const targets = await Promise.all(files.map((path) => realpath(path).catch(() => path)));
  const inside = [...new Set([...files, ...targets])].filter((path) => isInside(path, at.root));
  return inside.toSorted();
}

/** Returns true if a file in a folder of hooks can be a script. */
export function isScript(file: string, path: string): boolean {
  return scriptNames.test(file) || (extname(file) === '' && isExecutable(path));
}

const scriptNames = /\.(?:sh|bash|zsh|fish|py|m?js|cjs|m?ts|rb|pl|php|lua|ps1|cmd|bat)$/i;
const shellNames = /\.(?:sh|bash|zsh|fish|ps1|cmd|bat)$/i;
/** Endings that interpreters add to a name. */
const addedEndings = [
  ...['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.py', '.sh', '.rb'],
  ...['/index.js', '/index.mjs', '/index.cjs', '/index.ts', '/__main__.py'],
];

/** Stands for an expansion whose value is unknown. */
const unknown = '*';
const hasUnknown = /[*?[]/;
/** The characters that stand for known paths until the words are separated. Paths can contain spaces. */
const marks = /[\ue000-\ue003]/g;

/**
 * Returns the words of a command line that can be paths. It removes quotes as a shell does, and inserts the
 * values of the variables that are known. A quoted text and a substitution can be command lines, so their
 * words are included too.
 */
function wordsOf(command: string, projectFolder: string, { root, cwd }: At): readonly string[] {
  const known = [projectFolder, cwd, homedir(), root];
  const inserted = command
    .replace(/\$\{?(?:CLAUDE|MILLRACE)_PROJECT_DIR\b\}?/g, '\ue000')
    .replace(/\$\{?PWD\b\}?|\$\(pwd\)|`pwd`|~\+/g, '\ue001')
    .replace(/\$\{?HOME\b\}?|(?<=^|[\s"'=:(])~(?=\/|\s|$)/g, '\ue002')
    .replace(/\$\(git rev-parse --show-toplevel\)|`git rev-parse --show-toplevel`/g, '\ue003')
    .replace(/\$\{[^{}]*\}|\$\w+/g, unknown);
  const outer = inserted.replace(/\$\([^()]*\)|`[^`]*`/g, unknown);
  const joined = [outer, inserted].flatMap((text) =>
    (text.match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s;|&()<>`"'\\])+/gs) ?? []).map((word) =>
      word.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/gs, '$1$2$3'),
    ),
  );
  const pieces = [inserted, ...joined].flatMap((text) => text.split(/[\s"'`;|&()<>=,{}]+/));
  const all = [...joined, ...joined.flatMap((word) => word.split('=')), ...pieces].map((word) =>
    word.replace(marks, (mark) => known[mark.charCodeAt(0) - 0xe000] ?? ''),
  );
  return [...new Set(all)].filter((word) => word !== '' && !word.startsWith('-'));
}

/**
 * Adds the paths that words without an unknown part can name. A word that names a folder can be the folder
 * of another word, for example after `cd` or `--prefix`. Returns false if there are too many paths.
 */
async function namedFiles(
  words: readonly string[],
  starts: readonly string[],
  candidates: Set<string>,
): Promise<boolean> {
  const bases = new Set(starts);
  const plain = words.filter((word) => !hasUnknown.test(word));
  for (const base of bases) {
    if (bases.size * plain.length > maxCandidates) return false;
    const folders = plain.map((word) => resolve(base, word));
    const found = await Promise.all(folders.map(isFolder));
    for (const [index, folder] of folders.entries())
      if (found[index] && bases.size < maxBases) bases.add(folder);
  }
  for (const base of bases)
    for (const word of plain) {
      if (candidates.size > maxCandidates) return false;
      // `python -m scripts.check` runs scripts/check.py.
      for (const name of new Set([word, word.replaceAll('.', '/')]))
        for (const ending of addedEndings) candidates.add(resolve(base, `${name}${ending}`));
    }
  return true;
}

/** Decides whether a command with an unknown part can start a file. */
type FilePattern = (path: string) => boolean;

/** Matches words after which the other words are paths in a different folder. */
const changesFolder = /(?:^|[\s;&|("'])(?:cd|pushd|-C|--prefix|--cwd|--dir)(?=[\s=])/;
const interpreters = /\b(?:node|bun|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|lua)\b/;

/**
 * Returns the patterns of the words with an unknown part, such as `$X/scripts/check.sh`. If the command changes
 * to an unknown folder, each word can be a path in that folder.
 */
function patternsOf(words: readonly string[], command: string): readonly FilePattern[] {
  const unclear = words.filter((word) => hasUnknown.test(word));
  if (unclear.length === 0) return [];
  const others = changesFolder.test(command) ? words : [];
  const canRun = (path: string) =>
    shellNames.test(path) ||
    (interpreters.test(command) && scriptNames.test(path)) ||
    isExecutable(path);
  return [...unclear, ...others].flatMap((word): readonly FilePattern[] => {
    const parts = word.split('/').filter((part) => part !== '' && part !== '.');
    // A word without letters, such as a variable alone, is an argument and names no file.
    if (!parts.some((part) => /\w/.test(part))) return [];
    const known = parts.slice(parts.findLastIndex((part) => hasUnknown.test(part)) + 1);
    if (known.length > 0) {
      const end = `/${known.join('/')}`;
      return [(path) => addedEndings.some((ending) => path.endsWith(`${end}${ending}`))];
    }
    const pattern = globPattern(parts.slice(parts.findLastIndex((part) => /\w/.test(part))));
    return [(path) => pattern.test(path) && canRun(path)];
  });
}

/** Returns the regular expression for the last parts of a path. */
function globPattern(parts: readonly string[]): RegExp {
  const sources = parts.map((part) =>
    part === '**'
      ? '.*'
      : part
          .replace(/\[[^\]]*\]/g, '?')
          .replace(/[.+^${}()|[\]\\]/g, '\\$&')
          .replace(/\*+/g, '[^/]*')
          .replaceAll('?', '[^/]'),
  );
  return new RegExp(`/${sources.join('/')}$`, 's');
}

/** Finds the files below a folder. Returns undefined if there are too many files and folders. */
async function searchFiles(
  root: string,
  patterns: readonly FilePattern[],
): Promise<readonly string[] | undefined> {
  const found: string[] = [];
  const queue = [root];
  let count = 0;
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    count += entries.length;
    if (count > maxSearched) return undefined;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) {
        if (patterns.some((matches) => matches(path))) found.push(path);
      } else if (entry.name !== '.git' && entry.name !== 'node_modules') queue.push(path);
    }
  }
  return found;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

function isExecutable(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o111) !== 0;
}
