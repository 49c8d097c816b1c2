import { statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { isInside } from './config-paths.ts';
import {
  canStartPackages,
  goFilesIn,
  nodeScriptsIn,
  packagesOf,
  withoutFolders,
} from './scripts/package-scripts.ts';
import { shellWords } from './scripts/shell-tokens.ts';
import { hasUnclearScript } from './scripts/unclear-scripts.ts';

/** Maximum number of files and folders that are searched for scripts. */
const maxSearched = 50_000;
/** Maximum number of paths without an ending that the words of all commands can name. */
const maxStems = 4000;
/** Maximum number of times that a word of a command is resolved from a folder. */
const maxResolved = 50_000;
/** Maximum number of folders from which the words of a command are resolved. */
const maxBases = 16;
/** Maximum number of words with an unknown part in all commands. */
const maxUnknown = 1000;
/** Maximum number of names in the path of a word that has an unknown part. */
const maxNames = 32;
/** Maximum number of characters that a search for words with wildcards compares. */
const maxCompared = 20_000_000;

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
  /**
   * True if the command can run a script in the root folder, as `node .` does. False if that folder is probably data.
   * Default: true, but only a known starter of packages runs the files that its `package.json` names.
   */
  readonly runsRoot?: boolean | undefined;
}

/** The files of a project that commands can execute. */
export interface NamedScripts {
  /** The absolute paths of the files that commands name. The real path of a link is included. */
  readonly files: readonly string[];
  /**
   * Paths that do not exist. A file there would run in place of a file in `files`, for example `tools/server` in
   * place of `tools/server.js`.
   */
  readonly shadows: readonly string[];
  /** True if a command can start a script whose name it does not show. Each file can then be the script. */
  readonly isUnclear: boolean;
}

/**
 * Finds the files of a project that command lines name. Returns undefined if the commands have too many words,
 * or if the project has too many files to search. The time has a limit, because the user may not trust the
 * commands.
 */
export async function findNamedScripts(
  commands: readonly ProjectCommand[],
  at: At,
): Promise<NamedScripts | undefined> {
  const stems: Stems = {
    ...{ all: new Map(), goPackages: new Set(), nodePackages: new Map(), initial: new Set() },
    left: maxResolved,
  };
  const patterns: FilePatterns = { ends: new Set(), lengths: new Set(), globs: [] };
  let isUnclear = false;
  for (const one of commands) {
    const words = wordsOf(one.command, one.projectFolder, at);
    isUnclear ||= hasUnclearScript(withMarks(one.command));
    const isAdded =
      (await addStems(words, one, at, stems)) && addPatterns(words, one.command, patterns);
    if (!isAdded) return undefined;
  }
  const isSearched = patterns.ends.size + patterns.globs.length > 0;
  const searched = isSearched ? await searchFiles(at.root, patterns) : noFiles;
  const sources = await goFilesIn(stems.goPackages, maxSearched);
  const node = await nodeScriptsIn(stems.nodePackages);
  if (searched === undefined || sources === undefined || node === undefined) return undefined;
  for (const stem of node.scripts) stems.all.set(stem, true);
  if (stems.all.size > maxStems) return undefined;
  for (const stem of searched.stems) stems.all.set(stem, true);
  const named = [...stems.all].flatMap(([stem, runsFolders]) => endingsOf(stem, runsFolders));
  const all = [...named, ...stems.initial, ...searched.files, ...sources, ...node.manifests];
  const files = await keepFiles([...new Set(all)]);
  const targets = await Promise.all(files.map((path) => realpath(path).catch(() => path)));
  const isFound = new Set(files);
  const tried = [...stems.all.keys()].flatMap((stem) => shadowsOf(stem, isFound));
  const shadows = [...tried, ...stems.initial];
  const existing = new Set(await keepExisting(shadows));
  const inside = (paths: readonly string[]) =>
    [...new Set(paths)].filter((path) => isInside(path, at.root)).toSorted();
  return {
    files: inside([...files, ...targets]),
    shadows: inside(shadows.filter((path) => !existing.has(path))),
    isUnclear,
  };
}

const shellNames = /\.(?:sh|bash|zsh|fish|ps1|cmd|bat)$/i;
/** Endings that interpreters add to a name. */
const fileEndings = [
  ...['', '.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.node', '.py', '.pyc'],
  ...['.sh', '.rb', '.pm', '.lua', '.class'],
];
const folderEndings = [
  ...['/index.js', '/index.mjs', '/index.cjs', '/index.jsx', '/index.ts', '/index.mts'],
  ...['/index.cts', '/index.tsx', '/index.json', '/index.node'],
  ...['/__main__.py', '/__init__.py', '/__main__.pyc', '/__init__.pyc', '/init.lua'],
];
/** Further endings that interpreters try before some of the endings above. */
const triedEndings = [...fileEndings, '.json', '.so'];
const triedInFolders = [...folderEndings, '/package.json'];

/** Paths without an ending. The value is true if the path can be a folder with a script. */
interface Stems {
  readonly all: Map<string, boolean>;
  /** The folders that `go run` can compile. */
  readonly goPackages: Set<string>;
  /**
   * The folders that a command can start by their `package.json`, which names the script. The value is true if the
   * command is a known starter of packages. Only then does the rest of the `package.json` count too.
   */
  readonly nodePackages: Map<string, boolean>;
  /** The files that Python runs before a module in a package. Each of them can be missing. */
  readonly initial: Set<string>;
  /** The number of times that a word can still be resolved. */
  left: number;
}

function endingsOf(stem: string, runsFolders: boolean): readonly string[] {
  const endings = runsFolders ? [...fileEndings, ...folderEndings] : fileEndings;
  return endings.map((ending) => `${stem}${ending}`);
}

/**
 * Returns the paths that an interpreter can try before it finds an existing file. A new file at one of these
 * paths would run instead.
 */
function shadowsOf(stem: string, isFound: ReadonlySet<string>): readonly string[] {
  // No interpreter prefers another name to the exact name.
  if (isFound.has(stem)) return [];
  const found = endingsOf(stem, true).filter((path) => isFound.has(path));
  if (found.length === 0) return [];
  // For `python -m`, a package has precedence over a module. A script in a folder runs after the folder's own
  // settings, such as `package.json`.
  const isFolderTried = found.some((path) => path === `${stem}.py` || path.startsWith(`${stem}/`));
  const tried = [...triedEndings, ...(isFolderTried ? triedInFolders : [])];
  return tried.map((ending) => `${stem}${ending}`);
}

/** Stands for an expansion whose value is unknown. */
const unknown = '*';
const hasUnknown = /[*?[]/;
/** The characters that stand for known paths until the words are separated. Paths can contain spaces. */
const marks = /[\ue000-\ue003]/g;
/** Maximum depth of substitutions in substitutions. */
const maxNested = 8;

/** Replaces the variables and substitutions whose values are known. */
function withMarks(command: string): string {
  return command
    .replace(/\$\{?(?:CLAUDE|MILLRACE)_PROJECT_DIR\b\}?/g, '\ue000')
    .replace(/\$\{?PWD\b\}?|\$\(pwd\)|`pwd`|~\+/g, '\ue001')
    .replace(/\$\{?HOME\b\}?|(?<=^|[\s"'=:(])~(?=\/|\s|$)/g, '\ue002')
    .replace(/\$\(git rev-parse --show-toplevel\)|`git rev-parse --show-toplevel`/g, '\ue003');
}

/**
 * Returns the words of a command line that can be paths. It removes quotes as a shell does, and inserts the
 * values of the variables that are known. A quoted text and a substitution can be command lines, so their
 * words are included too.
 */
function wordsOf(command: string, projectFolder: string, { root, cwd }: At): readonly string[] {
  const known = [projectFolder, cwd, homedir(), root];
  const marked = withMarks(command);
  const inserted = marked.replace(/\$\{[^{}]*\}|\$(?:\w+|[@*#?$!-])/g, unknown);
  let outer = inserted;
  for (let count = 0, last = ''; count < maxNested && outer !== last; count++) {
    last = outer;
    outer = outer.replace(/\$\(\([^()]*\)\)|\$\([^()]*\)|\$\{[^{}]*\}|`[^`]*`/g, unknown);
  }
  const plain = [outer, inserted].flatMap((text) =>
    (text.match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s;|&()<>`"'\\])+/gs) ?? []).map((word) =>
      word.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/gs, '$1$2$3'),
    ),
  );
  const joined = [...plain, ...shellWords(marked)];
  // A colon separates the folders of a list, such as `PYTHONPATH=src:lib`.
  const pieces = [inserted, ...joined].flatMap((text) => [
    ...text.split(/[\s"'`;|&()<>=,{}]+/),
    ...text.split(/[\s"'`;|&()<>=,{}:]+/),
  ]);
  const all = [...joined, ...joined.flatMap((word) => word.split('=')), ...pieces]
    .flatMap(valuesIn)
    .map((word) => word.replace(marks, (mark) => known[mark.charCodeAt(0) - 0xe000] ?? ''));
  return [...new Set(all)].filter((word) => word !== '');
}

/** Maximum number of letters of short options in one word, such as `-Bum` in `-Bummod`. */
const maxLetters = 8;

/**
 * Returns a word, and the values that it can contain: a value after the letters of short options, as in `-mmod`, and
 * the name of a file with further arguments, as in `@args`.
 */
function valuesIn(word: string): readonly string[] {
  if (word.startsWith('@')) return [word, word.slice(1)];
  const [letters = ''] = /^-[A-Za-z0-9]+/.exec(word) ?? [];
  const count = Math.min(letters.length - 1, maxLetters);
  return [word, ...Array.from({ length: Math.max(count, 0) }, (_, at) => word.slice(at + 2))];
}

/**
 * Adds the paths that words without an unknown part can name. A word that names a folder can be the folder
 * of another word, for example after `cd` or `--prefix`. Returns false if there are too many paths.
 */
async function addStems(
  words: readonly string[],
  { command, projectFolder, runsRoot }: ProjectCommand,
  { root, cwd }: At,
  stems: Stems,
): Promise<boolean> {
  const bases = new Set([projectFolder, cwd]);
  const isGo = /\bgo\b/.test(command);
  // Any program can be an interpreter or start one, so the entry files of each named folder count.
  const isAround = (path: string) => [root, cwd].some((own) => isInside(own, path));
  const isStarter = runsRoot !== false && canStartPackages(command);
  const startsRoot = runsRoot === true || isStarter;
  const canBePackage = new Set(wordsOf(withoutFolders(command), projectFolder, { root, cwd }));
  // The path of a Go package can start with the path of its module, which names no folder.
  const all = isGo ? words.flatMap(endsOfPath) : words;
  const names = [...new Set(all.map(knownPart))].filter((word) => word !== '');
  const plain = names.filter((word) => !word.startsWith('-'));
  const dashed = names.filter((word) => word.startsWith('-'));
  for (const base of bases) {
    stems.left -= names.length;
    if (stems.left < 0) return false;
    // After `--`, a word that looks like an option can be a script.
    for (const path of await keepFiles(dashed.map((word) => resolve(base, word))))
      stems.all.set(path, false);
    const paths = plain.map((word) => resolve(base, word));
    const areFolders = await Promise.all(paths.map(isFolder));
    for (const [index, path] of paths.entries()) {
      const isOwnFolder = areFolders[index] && [root, cwd].some((own) => isInside(path, own));
      if (isOwnFolder) bases.add(path);
      if (bases.size > maxBases) return false;
      if (isOwnFolder && isGo) stems.goPackages.add(path);
      const isPackage = canBePackage.has(plain[index] ?? '') && (startsRoot || !isAround(path));
      if (isOwnFolder && isPackage)
        stems.nodePackages.set(path, isStarter || stems.nodePackages.get(path) === true);
      // `python -m scripts.check` runs scripts/check.py, and `perl -MOrders::Check` runs Orders/Check.pm.
      const name = (plain[index] ?? '').replaceAll('::', '/');
      for (const stem of [path, resolve(base, name), resolve(base, name.replaceAll('.', '/'))]) {
        const runsFolder = runsRoot !== false || !isAround(stem);
        stems.all.set(stem, runsFolder || stems.all.get(stem) === true);
        if (!runsFolder) stems.all.set(join(stem, '__main__.py'), false);
      }
      for (const one of packagesOf(name)) {
        const folder = resolve(base, one);
        if (--stems.left < 0 || stems.initial.size > maxStems) return false;
        if (!(await isFolder(folder))) break;
        stems.initial.add(`${folder}.py`).add(join(folder, '__init__.py'));
      }
      if (stems.all.size > maxStems) return false;
    }
  }
  return true;
}

/** Returns a word without unknown parts, or the folder before the first unknown part, as `lib` of `lib/?.lua`. */
function knownPart(word: string): string {
  const at = word.search(hasUnknown);
  return at === -1 ? word : word.slice(0, Math.max(word.lastIndexOf('/', at), 0));
}

/** Returns a path, and the same path without its first names. */
function endsOfPath(path: string): readonly string[] {
  const names = path.split('/');
  return names.slice(0, maxNames).map((_, at) => names.slice(at).join('/'));
}

/** The files that commands with unknown parts can start. */
interface FilePatterns {
  /** The last names of paths, such as `scripts/check`. The file can have an ending in addition. */
  readonly ends: Set<string>;
  /** The numbers of names in `ends`. */
  readonly lengths: Set<number>;
  readonly globs: Glob[];
}

/** A word with a wildcard in its last name, such as `scripts/*` or `check*.sh`. */
interface Glob {
  /** The last name with letters. */
  readonly name: string;
  /** The number of names after it. */
  readonly after: number;
  /** True if more names can be between them. */
  readonly isDeep: boolean;
  /** True if the command names an interpreter. It can then read each file. */
  readonly isInterpreted: boolean;
}

/** Matches words after which the other words are paths in a different folder. */
const changesFolder = /(?:^|[\s;&|("'])(?:cd|pushd|-C|--prefix|--cwd|--dir)(?=[\s=])/;
const interpreters =
  /\b(?:node(?:js)?[\d.]*|bun|deno|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby|perl|php|lua|go|java|[gm]?awk|julia|elixir|tclsh)\b/;

/** Matches a shell, `.`, `source`, and programs with `-f`. They read any file as a script. */
const readsScripts =
  /(?<![\w.-])(?:(?:ba|z|da|k|mk|a|fi|rba|c|tc)?sh|source|run-parts)(?![\w.-])|(?:^|[;&|({"'`\n]|\b(?:do|then|else|elif|if|while|until|builtin|command)\s)\s*\.\s|\b(?:g?sed|g?make)\b.*\s-\w*f/s;

/** Returns true if a command line names an interpreter of scripts. */
export function namesInterpreter(command: string): boolean {
  return interpreters.test(command);
}

/**
 * Adds the patterns of the words with an unknown part, such as `$X/scripts/check.sh`. If the command changes
 * to an unknown folder, each word can be a path in that folder. Returns false if there are too many words.
 */
function addPatterns(words: readonly string[], command: string, patterns: FilePatterns): boolean {
  // `run-parts scripts` runs all files in a folder.
  const ofFolders = /\brun-parts\b/.test(command) ? words.map((word) => `${word}/*`) : [];
  const unclear = [...words, ...ofFolders].filter((word) => hasUnknown.test(word));
  if (unclear.length === 0) return true;
  const isInterpreted = readsScripts.test(command) || namesInterpreter(command);
  const plain = words.filter((word) => !word.startsWith('-'));
  for (const word of [...unclear, ...(changesFolder.test(command) ? plain : [])]) {
    if (word.startsWith('-')) continue;
    const names = word.split('/').filter((name) => name !== '' && name !== '.');
    // A word that consists only of unknown text and signs, such as one variable, is an argument and not a file.
    const at = names.findLastIndex((name) => /\w/.test(name));
    if (at < 0) continue;
    const known = names.slice(names.findLastIndex((name) => hasUnknown.test(name)) + 1);
    if (known.length > 0) {
      patterns.ends.add(known.join('/'));
      patterns.lengths.add(known.length);
    } else {
      const after = names.slice(at + 1);
      const name = (names[at] ?? '').replace(/\[[^[\]]*\]/g, '?').replace(/\*+/g, '*');
      const isDeep = after.includes('**');
      patterns.globs.push({ name, after: after.length, isDeep, isInterpreted });
    }
    if (Math.max(known.length, names.length - at) > maxNames) return false;
    if (patterns.ends.size + patterns.globs.length > maxUnknown) return false;
  }
  return true;
}

interface SearchedFiles {
  readonly files: readonly string[];
  /** The paths of these files without the endings that an interpreter adds. */
  readonly stems: readonly string[];
}

const noFiles: SearchedFiles = { files: [], stems: [] };

/** Finds the files below a folder. Returns undefined if there are too many files and folders. */
async function searchFiles(
  root: string,
  patterns: FilePatterns,
): Promise<SearchedFiles | undefined> {
  const files: string[] = [];
  const stems: string[] = [];
  const queue = [root];
  const budget = { left: maxCompared };
  let count = 0;
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    count += entries.length;
    if (count > maxSearched) return undefined;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== '.git' && entry.name !== 'node_modules') queue.push(path);
        continue;
      }
      const stem = stemsOf(path).find((one) => hasEnd(one, patterns));
      if (stem !== undefined) stems.push(stem);
      if (stem !== undefined || matchesGlobs(path, patterns.globs, budget)) files.push(path);
      if (budget.left < 0) return undefined;
    }
  }
  return { files, stems };
}

/** Returns the path, and the paths to which an interpreter could have added an ending. */
function stemsOf(path: string): readonly string[] {
  const ending = extname(path);
  return [
    path,
    ...(ending !== '' && fileEndings.includes(ending) ? [path.slice(0, -ending.length)] : []),
    ...(folderEndings.includes(`/${basename(path)}`) ? [dirname(path)] : []),
  ];
}

/** True if the last names of a path are in the patterns. The time does not depend on their number. */
function hasEnd(path: string, { ends, lengths }: FilePatterns): boolean {
  let at = path.length;
  for (let length = 1; length <= maxNames && at > 0; length++) {
    at = path.lastIndexOf('/', at - 1);
    if (lengths.has(length) && ends.has(path.slice(at + 1))) return true;
  }
  return false;
}

function matchesGlobs(path: string, globs: readonly Glob[], budget: { left: number }): boolean {
  if (globs.length === 0) return false;
  const names = path.split('/');
  const isShell = shellNames.test(path);
  let canExecute: boolean | undefined;
  return globs.some(({ name, after, isDeep, isInterpreted }) => {
    const last = names.length - 1 - after;
    const tried = isDeep ? names.slice(0, Math.max(0, last + 1)) : [names[last] ?? ''];
    if (!tried.some((one) => matchesName(one, name, budget))) return false;
    if (isInterpreted || isShell) return true;
    canExecute ??= isExecutable(path);
    return canExecute;
  });
}

/**
 * True if a name matches a pattern with `*` and `?`. After a mismatch, only the last `*` takes more characters,
 * so the time is at most the product of both lengths. A regular expression could need much longer.
 */
function matchesName(name: string, pattern: string, budget: { left: number }): boolean {
  let [at, from, star, starred] = [0, 0, -1, 0];
  while (at < name.length) {
    if (budget.left-- < 0) return false;
    if (pattern[from] === '*') {
      star = from++;
      starred = at;
    } else if (from < pattern.length && (pattern[from] === '?' || pattern[from] === name[at])) {
      from++;
      at++;
    } else if (star >= 0) {
      from = star + 1;
      at = ++starred;
    } else return false;
  }
  while (pattern[from] === '*') from++;
  return from === pattern.length;
}

async function keepFiles(paths: readonly string[]): Promise<readonly string[]> {
  const areFiles = await Promise.all(paths.map(isFile));
  return paths.filter((_, index) => areFiles[index]);
}

async function keepExisting(paths: readonly string[]): Promise<readonly string[]> {
  const entries = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  return paths.filter((_, index) => entries[index] !== undefined);
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
