import { randomUUID } from 'node:crypto';
import { chmod, lstat, rename } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { type Folder, folderOpener } from '../../workspace/folder.ts';

/** Entries of a folder that make git run programs. */
export interface Risk {
  readonly folder: string;
  /** The names of the entries to rename. Without them, git runs no programs. */
  readonly names: readonly string[];
  readonly why: string;
}

/**
 * Enters a folder. A command can remove the right to list the folder, which git does not need. The right
 * is then restored.
 */
async function enter(at: Folder, name: string): Promise<Folder> {
  try {
    return await at.enter(name);
  } catch (error) {
    if (!(await permitOwner(at.pathOf(name)))) throw error;
    return at.enter(name);
  }
}

/** Gives the owner all rights to a folder. Returns false if the path is not a folder. */
async function permitOwner(folder: string): Promise<boolean> {
  const entry = await lstat(folder);
  if (!entry.isDirectory()) return false;
  await chmod(folder, (entry.mode & 0o777) | 0o700);
  return true;
}

/**
 * Renames an entry and returns the new name. Undefined if the entry does not exist. A command can make
 * the folder read-only, so the rights are restored first if the rename fails.
 */
async function renameIn(at: Folder, name: string): Promise<string | undefined> {
  const away = `${name}.blocked-by-sandbox-${randomUUID()}`;
  const attempt = () => rename(at.pathOf(name), at.pathOf(away));
  const failure = await attempt().then(
    () => undefined,
    ({ code = '' }: NodeJS.ErrnoException) => code,
  );
  if (failure === 'ENOENT') return undefined;
  if (failure !== undefined) {
    await permitOwner(at.pathOf('.'));
    await attempt();
  }
  return away;
}

/**
 * Opens a folder without following links, because another command may still run and replace a folder
 * by a link to one outside of the workspace. `use` gets the folder.
 */
async function within<Result>(
  root: string,
  folder: string,
  use: (at: Folder) => Promise<Result>,
): Promise<Result> {
  const opened: Folder[] = [];
  try {
    let at = await folderOpener(root)();
    opened.push(at);
    // The workspace itself can be a bare repository.
    for (const name of relative(root, folder)
      .split(sep)
      .filter((one) => one !== '')) {
      at = await enter(at, name);
      opened.push(at);
    }
    return await use(at);
  } finally {
    for (const one of opened) await one.close();
  }
}

/**
 * Gives the owner all rights to a folder that a command made unreadable, if it can. Before the command
 * it was readable, because otherwise the command would not have run.
 */
export async function makeReadable(root: string, folder: string): Promise<void> {
  await within(root, folder, async () => {}).catch(() => {});
}

/** Renames the entries of a risk. Returns what happened, for the model. */
export async function removeRisk(root: string, { folder, names, why }: Risk): Promise<string> {
  const shown = relative(root, folder);
  try {
    const renamed: string[] = [];
    await within(root, folder, async (at) => {
      for (const name of names) {
        const away = await renameIn(at, name);
        if (away !== undefined) renamed.push(`${name} to ${away}`);
      }
    });
    return `The sandbox renamed ${renamed.join(' and ')} in ${shown}, because git would run programs of a repository that the command created: ${why}. Tell the user`;
  } catch {
    return `The command created a repository in ${shown} that makes git run programs: ${why}. The sandbox could not rename it. Tell the user to remove it before git is used`;
  }
}
