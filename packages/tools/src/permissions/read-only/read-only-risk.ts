import { access, constants, lstat, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Workspace } from '../../workspace/workspace.ts';
import { lexicalPath } from '../permission-rule.ts';
import type { ReadOnlyCommand, ReadPath } from './read-only-command.ts';

interface ReadOnlyEnvironment {
  readonly workspace: Pick<Workspace, 'root' | 'resolve'>;
  /** May this be looked at? */
  readonly mayRead: (path: ReadPath) => boolean;
  /** Where the shell looks for programs. */
  readonly searchPath?: string | undefined;
}

/**
 * Why a command that only looks, by its words, is better asked about: a link leads somewhere else, its
 * program comes from the folder itself, or the repository has git run programs.
 */
export async function findReadOnlyRisk(
  { program, paths, isGit }: ReadOnlyCommand,
  { workspace, mayRead, searchPath = process.env['PATH'] }: ReadOnlyEnvironment,
): Promise<string | undefined> {
  for (const { path, kind } of paths) {
    const place = await workspace.resolve(path).catch(() => undefined);
    if (place === undefined) return `${path} leads outside the workspace`;
    if (!mayRead({ path: place.real, kind })) return `${path} leads to ${place.shown}`;
  }
  const { root } = workspace;
  if (!shellBuiltins.has(program) && !(await isOutsideProgram(program, root, searchPath)))
    return `The program ${program} may be one of the workspace itself`;
  const isDoubtful = isGit && !(await isPlainRepository(root));
  return isDoubtful ? 'The repository may have git run other programs' : undefined;
}

/** The shell does these by itself. */
const shellBuiltins: ReadonlySet<string> = new Set(['cd', 'pwd', 'true', 'false', 'echo']);

/** Whether the first program of that name is outside the root. */
async function isOutsideProgram(program: string, root: string, searchPath = ''): Promise<boolean> {
  for (const folder of searchPath.split(':')) {
    // An empty one is where the command runs.
    if (!isAbsolute(folder)) return false;
    const isThere = await access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return !lexicalPath(root, folder).isInside;
  }
  // There is none: the shell says so.
  return true;
}

/** Sections of a repository's configuration, and what may be set in them. Nothing of it has git run anything. */
const harmlessSettings: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'core',
    `repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks
      autocrlf eol safecrlf abbrev quotepath`.split(/\s+/),
  ],
  ['remote', ['url', 'pushurl', 'fetch', 'tagopt', 'prune', 'gh-resolved']],
  [
    'branch',
    'remote merge rebase pushremote description vscode-merge-base gh-merge-base'.split(' '),
  ],
  ['user', ['name', 'email']],
  ['init', ['defaultbranch']],
  ['pull', ['rebase', 'ff']],
  ['push', ['default', 'autosetupremote']],
  ['color', ['ui']],
]);

/**
 * Whether git, in this folder, finds a repository that has it run no other programs: no file watcher,
 * filter, pager or comparer of its own. A folder that came with its `.git` may have one.
 */
async function isPlainRepository(root: string): Promise<boolean> {
  try {
    const own = join(root, '.git');
    const folders = await Promise.all(
      ['.', 'objects', 'refs'].map((name) => lstat(join(own, name))),
    );
    const files = await Promise.all(['HEAD', 'config'].map((name) => lstat(join(own, name))));
    // One that git would take for none has it look for another: in this very folder, or above it.
    const isWhole = folders.every((one) => one.isDirectory()) && files.every((one) => one.isFile());
    // What is in another repository inside this one, or beside it, is not looked at here.
    // The hook is run when an index is written, which a mere look may do.
    const more = ['modules', 'config.worktree', 'commondir', 'hooks/post-index-change'];
    const hasMore = await Promise.all(more.map((name) => mayExist(join(own, name))));
    if (!isWhole || hasMore.includes(true)) return false;
    if ((await mayExist(join(root, '.gitmodules'))) || (await hasInnerRepository(own)))
      return false;
    return isHarmlessGitConfig(await readFile(join(own, 'config'), 'utf8'));
  } catch {
    return false;
  }
}

/** Modules that git knows of are in the index, as links to commits. */
async function hasInnerRepository(own: string): Promise<boolean> {
  const index = await readFile(join(own, 'index')).catch(() => undefined);
  // Their mode, 0160000, between the fields of an entry.
  return index?.includes(Buffer.from([0x00, 0x00, 0xe0, 0x00])) ?? false;
}

function mayExist(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

/** Whether each line is a section or a setting that is known. A line that goes on, or is none, is not. */
export function isHarmlessGitConfig(config: string): boolean {
  let known: readonly string[] | undefined;
  return config.split(/\r?\n/).every((line) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#') || text.startsWith(';')) return true;
    const section = /^\[([a-z]+)(?:\s+"[^"\\]*")?\]$/i.exec(text);
    if (section !== null) {
      known = harmlessSettings.get((section[1] ?? '').toLowerCase());
      return known !== undefined;
    }
    const setting = /^([a-z][a-z0-9-]*)(?:\s*=\s*[^\\]*)?$/i.exec(text);
    return setting !== null && known?.includes((setting[1] ?? '').toLowerCase()) === true;
  });
}
