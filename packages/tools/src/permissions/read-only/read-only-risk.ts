import { access, constants, lstat, readdir, realpath } from 'node:fs/promises';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { findInnerRisk } from '../../git/inner-repository.ts';
import { findRepositoryRisk, type GitUse, hasRemote } from '../../git/repository-risk.ts';
import { isTrustedPlace } from '../../git/run-git.ts';
import { compileGlob } from '../../workspace/globs/compile-glob.ts';
import { isInside } from '../../workspace/match-path.ts';
import type { Workspace } from '../../workspace/workspace.ts';
import { findSecretBelow } from './find-secret.ts';
import type { ReadOnlyCommand, ReadPath } from './read-only-command.ts';

interface ReadOnlyEnvironment {
  readonly workspace: Pick<Workspace, 'root' | 'resolve'>;
  /** Returns true if tools may read a path without asking. */
  readonly mayRead: (path: ReadPath) => boolean;
  /** The folders in which the shell searches for programs. Default: the PATH of this process. */
  readonly searchPath?: string | undefined;
}

/**
 * Returns the reason to ask before running a command that seems to only read. A link may lead to a different
 * place, or a searched folder may contain secrets. The program may be inside the workspace, or the repository
 * may make git run programs.
 */
export async function findReadOnlyRisk(
  { program, paths, isGit, mayBeInside = false, gitUse, remote }: ReadOnlyCommand,
  { workspace, mayRead, searchPath = process.env['PATH'] }: ReadOnlyEnvironment,
): Promise<string | undefined> {
  const { root } = workspace;
  const all = await withMatches(paths, root);
  if (all === undefined) return 'A wildcard matches too many names';
  for (const read of all) {
    const { path } = read;
    if (read.mustBeAbsent && (await isThere(resolve(root, path))))
      return `${path} is an option and also the name of a file`;
    if (read.mustBeAbsent) continue;
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
  const risk = isGit ? await riskOfGit(root, gitUse) : undefined;
  if (risk === undefined && remote !== undefined && !(await hasRemote(root, remote)))
    return `${remote} is not a remote of the repository, so git may run the hooks of a folder`;
  return risk && `The repository may make git run other programs: ${risk}`;
}

async function riskOfGit(root: string, use: GitUse = 'reads'): Promise<string | undefined> {
  const risk = await findRepositoryRisk(root, use);
  if (risk !== undefined || use === 'reads') return risk;
  // `git add` and `git commit` skip files that git ignores. All other commands, such as `git checkout`, do
  // not skip them.
  return findInnerRisk(root, { ignored: use !== 'changes' });
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENAMETOOLONG',
  );
}

function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

/** Maximum number of paths that the wildcards of one command can match. */
const maxMatches = 1000;
const maxStars = 4;

/**
 * Adds the paths that the shell uses in place of a path with a wildcard. Returns undefined if there are too many
 * paths.
 */
async function withMatches(
  paths: readonly ReadPath[],
  root: string,
): Promise<readonly ReadPath[] | undefined> {
  const all: ReadPath[] = [];
  for (const read of paths) {
    all.push(read);
    if (!read.hasWildcard) continue;
    const [pattern, folder] = [basename(read.path), dirname(read.path)];
    // More wildcards could need too much time.
    if (pattern.length - pattern.replaceAll('*', '').length > maxStars) return undefined;
    const matches = compileGlob(pattern, { nocase: true });
    for (const name of await readdir(resolve(root, folder)).catch(() => []))
      if (!name.startsWith('.') && matches(name)) all.push({ ...read, path: join(folder, name) });
    if (all.length > maxMatches) return undefined;
  }
  return all;
}

/** The commands that the shell executes itself, without starting a program. */
const shellBuiltins: ReadonlySet<string> = new Set(['cd', 'pwd', 'true', 'false', 'echo']);

/** The programs that are scripts on some systems, with the programs that they start by name. */
const startedByName: ReadonlyMap<string, string> = new Map([
  ['egrep', 'grep'],
  ['fgrep', 'grep'],
]);

/**
 * True if the first program with this name on the search path does not come with the project. Programs that it starts
 * by name count too.
 */
async function isOutsideProgram(program: string, root: string, searchPath = ''): Promise<boolean> {
  const started = startedByName.get(program);
  if (started !== undefined && !(await isOutsideProgram(started, root, searchPath))) return false;
  for (const folder of searchPath.split(delimiter)) {
    // An empty entry stands for the current folder of the command, which is inside the root.
    if (!isAbsolute(folder)) return false;
    const path = join(folder, program);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const real = await realpath(path).catch(() => path);
    return isTrustedPlace(folder, root) && !isInside(root, real);
  }
  // The program does not exist. The shell reports this itself.
  return true;
}

/**
 * Returns the search path without the folders of the project, for a command that only reads. A known program can be a
 * script that starts other programs by name. Returns the given path if one of the programs comes from the project,
 * because the user was asked about such a line.
 */
export async function searchPathForReading(
  programs: readonly string[],
  root: string,
  searchPath: string | undefined,
): Promise<string | undefined> {
  for (const program of programs)
    if (!shellBuiltins.has(program) && !(await isOutsideProgram(program, root, searchPath)))
      return searchPath;
  const kept = await Promise.all(
    (searchPath ?? '').split(delimiter).map(async (folder) => {
      const real = await realpath(folder).catch(() => undefined);
      const isKept = real !== undefined && !isInside(root, real) && isTrustedPlace(folder, root);
      return isKept && isAbsolute(folder) ? [folder] : [];
    }),
  );
  // A shell searches an empty path in its current folder.
  return kept.flat().join(delimiter) || '/usr/bin:/bin';
}
