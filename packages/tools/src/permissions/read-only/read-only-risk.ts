import { access, constants, lstat, readFile, realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Workspace } from '../../workspace/workspace.ts';
import { lexicalPath } from '../permission-rule.ts';
import { findSecretBelow } from './find-secret.ts';
import type { ReadOnlyCommand, ReadPath } from './read-only-command.ts';

interface ReadOnlyEnvironment {
  readonly workspace: Pick<Workspace, 'root' | 'resolve'>;
  /** Whether tools may read a path without asking. */
  readonly mayRead: (path: ReadPath) => boolean;
  /** The folders where the shell searches for programs. Default: the PATH of this process. */
  readonly searchPath?: string | undefined;
}

/**
 * Returns why to ask before running a command that seems to only read: a link leads elsewhere, a
 * searched folder contains secrets, the program is inside the workspace, or the repository makes
 * git run other programs.
 */
export async function findReadOnlyRisk(
  { program, paths, isGit, mayBeInside = false }: ReadOnlyCommand,
  { workspace, mayRead, searchPath = process.env['PATH'] }: ReadOnlyEnvironment,
): Promise<string | undefined> {
  const { root } = workspace;
  for (const read of paths) {
    const { path } = read;
    const place = await workspace.resolve(path).catch(() => undefined);
    if (place === undefined) return `${path} leads outside the workspace or nowhere`;
    const { real, shown } = place;
    if (!mayRead({ ...read, path: real })) return `${path} leads to ${shown}`;
    if (program === 'cd' && real !== root) return `${path} leads to ${shown}`;
    if (read.mustBeFile && !(await isFile(real))) return `${path} is not a file`;
    if (read.kind === 'read' || read.isNamesOnly) continue;
    const risk = await findSecretBelow(real, { ...read, root, mayRead });
    if (risk !== undefined) return risk;
  }
  const isChecked = !mayBeInside && !shellBuiltins.has(program);
  if (isChecked && !(await isOutsideProgram(program, root, searchPath)))
    return `The program ${program} may be inside the workspace`;
  const isDoubtful = isGit && !(await isPlainRepository(root));
  return isDoubtful ? 'The repository may make git run other programs' : undefined;
}

function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

/** Commands that the shell runs without starting a program. */
const shellBuiltins: ReadonlySet<string> = new Set(['cd', 'pwd', 'true', 'false', 'echo']);

/** Whether the first program of that name on the search path is outside the root. */
async function isOutsideProgram(program: string, root: string, searchPath = ''): Promise<boolean> {
  for (const folder of searchPath.split(':')) {
    // An empty entry means the current folder of the command.
    if (!isAbsolute(folder)) return false;
    const path = join(folder, program);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const real = await realpath(path).catch(() => path);
    return [path, real].every((one) => !lexicalPath(root, one).isInside);
  }
  // The program does not exist. The shell reports that.
  return true;
}

/** Sections of a git configuration and their settings that never make git run another program. */
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
 * Whether git finds a repository here that makes it run no other programs, such as a file system
 * monitor, a filter, a pager or a diff tool. A folder from an untrusted source may contain such a
 * `.git`.
 */
async function isPlainRepository(root: string): Promise<boolean> {
  try {
    const own = join(root, '.git');
    const folders = await Promise.all(
      ['.', 'objects', 'refs'].map((name) => lstat(join(own, name))),
    );
    const files = await Promise.all(['HEAD', 'config'].map((name) => lstat(join(own, name))));
    // If git does not accept this folder as a repository, it uses another one: the folder itself or
    // one above it.
    const isWhole = folders.every((one) => one.isDirectory()) && files.every((one) => one.isFile());
    // Repositories inside or beside this one are not checked, so their presence is a risk. Git runs
    // the hook when it writes the index, which can happen during a read-only command.
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

/** The index lists submodules as links to commits. */
async function hasInnerRepository(own: string): Promise<boolean> {
  const index = await readFile(join(own, 'index')).catch(() => undefined);
  // The file mode 0160000 of a submodule, between the fields of an index entry.
  return index?.includes(Buffer.from([0x00, 0x00, 0xe0, 0x00])) ?? false;
}

function mayExist(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}

/** Whether each line is a known section or setting. A continued or unknown line is not harmless. */
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
