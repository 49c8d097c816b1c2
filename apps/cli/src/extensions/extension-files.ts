import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { PermissionRule } from '@millrace/tools';
import { isInside, isOwn } from '../config/config-paths.ts';
import type { Origin } from '../contract/extensions.ts';
import type { PluginLayout } from '../plugins/plugin-layout.ts';
import { readFileSafely } from '../safe-files.ts';
import type { YamlBudget } from './front-matter.ts';

/** A folder such as `.claude`, in which extensions are found. */
export interface ExtensionPlace {
  readonly folder: string;
  readonly origin: Origin;
  /** The folder that contains the place. Paths of hooks refer to it. */
  readonly parent: string;
  /** The parts of the plugin, if the place is the folder of a plugin. Undefined for all other places. */
  readonly plugin?: PluginLayout | undefined;
  /** The real path of the repository root. Links of a project must not lead out of it. */
  readonly root: string;
  readonly cwd: string;
  /** The permission rules of the user, for texts that the model gets. Default: none. */
  readonly rules?: readonly PermissionRule[] | undefined;
  /** The budget for the front matter of all files of a project. Default: no limit. */
  readonly yaml?: YamlBudget | undefined;
}

type Warn = (problem: string) => void;

const maxFileBytes = 256 * 1024;
/** Maximum number of files of one kind in one place. */
export const maxFiles = 200;
const maxDepth = 4;

/**
 * Reads a text file of a place. Returns undefined if it does not exist or must not be read. A file
 * of a project must belong to the user, must be inside of the repository, and must not look like a
 * secret, because its text is sent to the provider of the model. No rule of the place may deny it, or ask about it if
 * the path leads through a link.
 */
export async function readExtensionFile(
  path: string,
  place: Omit<ExtensionPlace, 'folder' | 'parent'>,
  warn: Warn,
): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return undefined;
  const problem = await whyNotRead(path, real, place);
  if (problem !== undefined) {
    warn(`${path} is not used: ${problem}.`);
    return undefined;
  }
  try {
    const { bytes } = await readFileSafely(real, { maxBytes: maxFileBytes });
    return new TextDecoder().decode(bytes);
  } catch (error) {
    const { message } = error as Error;
    warn(`${path} is not used: ${message}.`);
    return undefined;
  }
}

async function whyNotRead(
  path: string,
  real: string,
  { origin, root, cwd, rules = [] }: Omit<ExtensionPlace, 'folder' | 'parent'>,
): Promise<string | undefined> {
  if (!(await isOwn(path, cwd))) return 'it belongs to another user';
  if (origin === 'user') return undefined;
  if (!isInside(real, root)) return 'it leads to a file outside of the repository';
  if (relative(root, real).toLowerCase().split(sep).includes('.git'))
    return 'it leads to a file of git';
  // The module is loaded on demand, because most projects have no such files.
  const { permissionPolicy } = await import('@millrace/tools');
  if (!permissionPolicy({ root }).mayRead({ path: real, kind: 'read' }))
    return 'it leads to a file that looks like a secret';
  // Paths of rules are relative to the folder of the session.
  const { rulesOnReading, ruleAgainst } = await import('../agent/system-prompt.ts');
  const ruling = rulesOnReading(await realpath(cwd), rules);
  const rule = await ruleAgainst(ruling, { path, real, origin });
  return rule && `it leads to a file that a rule ${rule}`;
}

/**
 * Returns the paths of the files below a folder that `isWanted` accepts, sorted. Links to folders are
 * followed only in the user's own folders. The number and the depth of the files are limited.
 */
export async function listFiles(
  folder: string,
  origin: Origin,
  isWanted: (name: string, path: string) => boolean,
): Promise<readonly string[]> {
  const found: string[] = [];
  const visit = async (at: string, depth: number): Promise<void> => {
    const entries = await entriesOf(at);
    for (const entry of entries) {
      if (found.length >= maxFiles) return;
      const path = join(at, entry.name);
      const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && origin === 'user');
      if (isWanted(entry.name, path) && !entry.isDirectory()) found.push(path);
      else if (isFolder && depth < maxDepth && !skippedFolders.has(entry.name))
        await visit(path, depth + 1);
    }
  };
  await visit(folder, 0);
  return found;
}

/**
 * Returns the Markdown files of several places, each of them once. A place is a folder, or a single file. Files with
 * the name README.md describe their folder.
 */
export async function listMarkdown(
  places: readonly string[],
  origin: Origin,
): Promise<readonly string[]> {
  const isWanted = (name: string) => name.endsWith('.md') && name !== 'README.md';
  const all = await Promise.all(
    places.map((place) => (place.endsWith('.md') ? [place] : listFiles(place, origin, isWanted))),
  );
  return [...new Set(all.flat())];
}

/** Replaces the variable for the folder of a plugin in a text for the model, which cannot read variables. */
export function withPluginFolder(text: string, plugin: PluginLayout | undefined): string {
  if (plugin === undefined) return text;
  return text.replaceAll(/\$\{(?:CLAUDE_PLUGIN_ROOT|MILLRACE_PLUGIN_DIR)\}/g, () => plugin.folder);
}

const skippedFolders: ReadonlySet<string> = new Set(['node_modules', '__pycache__', '.git']);

/** Returns the entries of a folder, sorted by name. Returns none if it is not a folder. */
export async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)).slice(0, 10 * maxFiles);
}
