import { access, constants } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Workspace } from '../../workspace/workspace.ts';
import { placePath } from '../match-path.ts';
import { isPlainRepository } from './plain-repository.ts';
import type { Reading, ReadPath } from './reading.ts';

export interface ReadingCircumstances {
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
export async function doubtAboutReading(
  { program, paths, isGit }: Reading,
  { workspace, mayRead, searchPath = process.env['PATH'] }: ReadingCircumstances,
): Promise<string | undefined> {
  for (const { path, kind } of paths) {
    const place = await workspace.resolve(path).catch(() => undefined);
    if (place === undefined) return `${path} leads outside the workspace`;
    if (!mayRead({ path: place.real, kind })) return `${path} leads to ${place.shown}`;
  }
  const { root } = workspace;
  if (!builtIn.has(program) && !(await isElsewhere(program, root, searchPath)))
    return `The program ${program} may be one of the workspace itself`;
  const isDoubtful = isGit && !(await isPlainRepository(root));
  return isDoubtful ? 'The repository may have git run other programs' : undefined;
}

/** The shell does these by itself. */
const builtIn: ReadonlySet<string> = new Set(['cd', 'pwd', 'true', 'false', 'echo']);

/** Whether the first program of that name is outside the root. */
async function isElsewhere(program: string, root: string, searchPath = ''): Promise<boolean> {
  for (const folder of searchPath.split(':')) {
    // An empty one is where the command runs.
    if (!isAbsolute(folder)) return false;
    const isThere = await access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return !placePath(root, folder).isInside;
  }
  // There is none: the shell says so.
  return true;
}
