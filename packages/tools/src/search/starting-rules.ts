import { dirname, join, relative, sep } from 'node:path';
import { type IgnoreRules, noRules } from './ignore-rules.ts';
import { findRepository, isThere, readIgnoreFiles } from './read-ignore-files.ts';

export interface StartingRules {
  readonly rules: IgnoreRules;
  /** The folder where the walk starts, relative to the base of the rules. */
  readonly path: string;
}

/**
 * What the folders above a folder say about it and what is in it, up to the top of its repository, or
 * to the root where there is none. A folder that is ignored itself was asked for on purpose: then only
 * what is said inside it counts.
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
  const has = { git: await isThere(join(folder, '.git')), ignoreFile: true };
  const texts = await readIgnoreFiles(folder, has);
  return texts.reduce((rules, text) => rules.with(path, text), above);
}

/** The base, then each folder on the way, then the last. */
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
