import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { Ignore } from 'ignore';
import ignore from 'ignore';

/** The rules of `.gitignore` files for the paths below a base folder. */
export interface IgnoreRules {
  /**
   * Returns true if a path is ignored. `path` is relative to the base and uses `/`. Callers must check a
   * folder first, and must not check paths inside an ignored folder.
   */
  ignores(path: string, isFolder: boolean): boolean;
  /**
   * Returns these rules and the rules of an ignore file in `folder`. `folder` is relative to the base. It is
   * '' for the base itself.
   */
  with(folder: string, text: string): IgnoreRules;
}

const noRules: IgnoreRules = { ...createRules(emptyIgnore(), []), ignores: () => false };

/** `names` are expressions. The name of an ignored file or folder always matches one of them. */
function createRules(manager: Ignore, names: readonly string[]): IgnoreRules {
  const anyName = new RegExp(`^(?:${names.join('|')})$`, 's');
  return {
    // Most names match no rule. To test the name alone takes a fraction of the time.
    ignores: (path, isFolder) =>
      anyName.test(path.slice(path.lastIndexOf('/') + 1)) &&
      manager.ignores(isFolder ? `${path}/` : path),
    with(folder, text) {
      const patterns = patternsOf(text, folder);
      const all = new Set([...names, ...patterns.flatMap(nameExpression)]);
      return createRules(emptyIgnore().add(manager).add(patterns), [...all]);
    },
  };
}

/**
 * Returns an expression for the names that a pattern can ignore. It contains only the start and the end of the
 * last segment, up to the first and from the last special character, so it can match more names than the
 * pattern. Returns no expression if the pattern ignores nothing.
 */
function nameExpression(pattern: string): readonly string[] {
  if (pattern === '' || pattern.startsWith('#') || pattern.startsWith('!')) return [];
  const body = pattern.replace(/\/$/, '');
  const segment = body.slice(body.lastIndexOf('/') + 1);
  const parts = segment.split(/[\\*?[\]\s]/);
  // A class such as `[a/b]` can contain the last slash.
  const start = body.includes('[') ? '' : (parts[0] ?? '');
  if (parts.length === 1 && start !== '') return [escapeRegex(segment)];
  return [`${escapeRegex(start)}.*${escapeRegex(parts.at(-1) ?? '')}`];
}

function escapeRegex(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

function emptyIgnore(): Ignore {
  return ignore({ ignorecase: false });
}

function patternsOf(text: string, folder: string): readonly string[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => !isCostly(line))
    .flatMap((line) => anchorPattern(line, folder));
}

/** Maximum length of a line. */
const maxLineLength = 4096;
/** Matches a long run of blanks, with or without backslashes. Trimming such a line takes quadratic time. */
const manyBlanks = /(?:\\?\s){100}/;
/** Matches too many wildcards in one name. To compare such a line with a name of 255 characters takes minutes. */
const manyWildcards = /(?:\*[^/*]*){4}/;
const maxLevels = 4;

/**
 * True if an untrusted repository could block the program with a line, because reading it or comparing it
 * with paths takes too long. Such a line has no effect.
 */
function isCostly(line: string): boolean {
  if (line.length > maxLineLength) return true;
  const body = line.replaceAll('**', '\0');
  const levels = body.split('\0').length - 1;
  return manyBlanks.test(line) || manyWildcards.test(body) || levels > maxLevels;
}

/**
 * Rewrites a line of a nested ignore file relative to the base. All rules are then in one list, in which the
 * last match decides, as in git.
 */
function anchorPattern(line: string, folder: string): readonly string[] {
  const trimmed = line.replace(/(?<!\\) +$/, '');
  if (folder === '' || trimmed === '' || trimmed.startsWith('#')) return [trimmed];
  const isNegative = trimmed.startsWith('!');
  const pattern = isNegative ? trimmed.slice(1) : trimmed;
  const body = pattern.replace(/^\//, '');
  if (body === '' || body === '/') return [];
  const isAnchored = /\/(?!$)/.test(pattern);
  return [`${isNegative ? '!' : ''}/${escapePattern(folder)}/${isAnchored ? '' : '**/'}${body}`];
}

function escapePattern(folder: string): string {
  return folder.replaceAll(/[\\*?[\]!# ]/g, '\\$&');
}

const maxBytes = 1_048_576;
// Git does not follow links to ignore files, so O_NOFOLLOW is set. Without O_NONBLOCK, opening a FIFO with
// this name would block.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Returns the texts of the ignore files of a folder, lowest precedence first. */
export async function readIgnoreFiles(
  folder: string,
  has: { readonly git: boolean; readonly ignoreFile: boolean },
): Promise<readonly string[]> {
  const texts = [
    has.git ? await readExcludes(folder) : undefined,
    has.ignoreFile ? await readText(`${folder}/.gitignore`) : undefined,
  ];
  return texts.filter((text) => text !== undefined);
}

/** Returns the nearest folder that contains `.git`. It starts with this folder and goes upwards. */
async function findRepository(from: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    if (await pathExists(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Returns true if a path exists. A link counts even if its target is missing. */
export async function pathExists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/**
 * Returns the text of the file `info/exclude`. In a linked worktree, `.git` is a file with the path of the
 * git folder.
 */
async function readExcludes(folder: string): Promise<string | undefined> {
  const pointer = await readText(`${folder}/.git`);
  const own = pointer === undefined ? `${folder}/.git` : follow(folder, /^gitdir: (.*)/, pointer);
  const common = own && (await readText(`${own}/commondir`));
  const shared = own && common ? follow(own, /^(.*)/, common) : own;
  return shared && readText(`${shared}/info/exclude`);
}

/**
 * Returns a path that a git file contains. It does not use `join`, because the operating system must resolve
 * `..`. The folder may be a `/proc` handle path, whose textual parent is wrong.
 */
function follow(folder: string, form: RegExp, text: string): string | undefined {
  const path = form.exec(text)?.[1]?.trim() ?? '';
  if (path === '') return undefined;
  return isAbsolute(path) ? path : `${folder}/${path}`;
}

/**
 * Returns the text of a file. Returns undefined if the file is not regular or cannot be read. It then has no
 * rules.
 */
async function readText(path: string): Promise<string | undefined> {
  const file = await open(path, flags).catch(() => undefined);
  try {
    const stats = await file?.stat();
    if (file === undefined || !stats?.isFile()) return undefined;
    const bytes = Buffer.alloc(Math.min(stats.size, maxBytes));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.toString('utf8', 0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

interface StartingRules {
  readonly rules: IgnoreRules;
  /** The folder where the walk starts, relative to the base of the rules. */
  readonly path: string;
}

/**
 * Returns the rules of the parent folders, up to the top of the repository or to the root. If the start
 * folder itself is ignored, the caller searches it on purpose, so only the rules inside it apply.
 */
export async function startingRules(root: string, start: string): Promise<StartingRules> {
  const base = (await findRepository(root)) ?? root;
  let rules = noRules;
  for (const folder of foldersFrom(base, start)) {
    const path = relativeTo(base, folder);
    if (path !== '' && rules.ignores(path, true)) return { rules: noRules, path: '' };
    if (folder !== start) rules = await rulesIn(folder, path, rules);
  }
  return { rules, path: relativeTo(base, start) };
}

async function rulesIn(folder: string, path: string, above: IgnoreRules): Promise<IgnoreRules> {
  const has = { git: await pathExists(join(folder, '.git')), ignoreFile: true };
  const texts = await readIgnoreFiles(folder, has);
  return texts.reduce((rules, text) => rules.with(path, text), above);
}

/** Returns the base, the last folder, and all folders between them. */
function foldersFrom(base: string, last: string): readonly string[] {
  const folders = [last];
  for (let folder = last; folder !== base && folder !== dirname(folder); ) {
    folder = dirname(folder);
    folders.unshift(folder);
  }
  return folders;
}

function relativeTo(base: string, folder: string): string {
  return relative(base, folder).split(sep).join('/');
}
