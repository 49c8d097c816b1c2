import { access, constants, lstat, realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { findInnerRisk } from '../../git/inner-repository.ts';
import { findRepositoryRisk, type GitUse, hasRemote } from '../../git/repository-risk.ts';
import { lexicalPath } from '../../workspace/match-path.ts';
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

function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

/** The commands that the shell executes itself, without starting a program. */
const shellBuiltins: ReadonlySet<string> = new Set(['cd', 'pwd', 'true', 'false', 'echo']);

/** True if the first program with this name on the search path is outside the root. */
async function isOutsideProgram(program: string, root: string, searchPath = ''): Promise<boolean> {
  for (const folder of searchPath.split(':')) {
    // An empty entry stands for the current folder of the command, which is inside the root.
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
  // The program does not exist. The shell reports this itself.
  return true;
}
