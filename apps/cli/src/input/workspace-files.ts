import { gitFiles, type ListOptions } from './git-files.ts';
import { walkedFiles } from './walked-files.ts';

/** Of more than so many files, those at the end are not known. */
export const maxWorkspaceFiles = 200_000;

export type WorkspaceFilesOptions = Pick<ListOptions, 'cwd' | 'env'> &
  Partial<Pick<ListOptions, 'maxPaths' | 'signal'>>;

/** The files of a folder that .gitignore does not name, relative to it and with `/`. */
export async function workspaceFiles(options: WorkspaceFilesOptions): Promise<readonly string[]> {
  const list = {
    ...options,
    maxPaths: options.maxPaths ?? maxWorkspaceFiles,
    signal: options.signal ?? new AbortController().signal,
  };
  // Git is quickest in what it keeps. Elsewhere the folder is walked, by the rules that the tools go by.
  return (await gitFiles(list)) ?? (await walkedFiles(list));
}
