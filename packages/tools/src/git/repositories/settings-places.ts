import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { errorCodeOf } from '../../contract/workspace-error.ts';
import { followLinks } from '../../workspace/real-form.ts';
import { programsOfSettings } from '../git-folder/programs-of-settings.ts';
import { type GitSetting, readGitSettings } from '../read-git-settings.ts';

/** The places to which settings of git refer, as absolute paths. */
export interface SettingsPlaces {
  /** The folders with hooks. */
  readonly hooks: ReadonlySet<string>;
  /** The files with further settings. */
  readonly included: ReadonlySet<string>;
  /** The files that git runs or passes to a program (see `programsOfSettings`). Empty without a root. */
  readonly programs: ReadonlySet<string>;
  /** The links on the way to hooks and included files. */
  readonly links: ReadonlySet<string>;
  /** Reasons why some places are unknown: paths that start with `~user` or `%(prefix)`, and too many files. */
  readonly unclear: readonly string[];
}

/** Maximum number of files with settings to read. */
const maxFiles = 50;

/**
 * Returns the places to which the settings of a repository refer. Git runs most hooks in the worktree, but the hooks
 * of `git push` in the git folder. A relative path therefore refers to both folders. The root is the real path of the
 * workspace. `onRead` gets each file immediately before it is read.
 */
export function placesInSettings(
  files: readonly string[],
  [worktree, git]: readonly [worktree: string, git: string],
  root?: string,
  onRead: (file: string) => void = () => {},
): SettingsPlaces {
  const home = homedir();
  const folders = new Set([worktree, git]);
  const hookPaths = new Set<string>();
  const included = new Set<string>();
  const links = new Set<string>();
  const unclear: string[] = [];
  const all = new Set(files);
  const settings: GitSetting[] = [];
  let left = maxFiles;
  for (const file of all) {
    if (left-- === 0) {
      unclear.push(`more than ${maxFiles} files`);
      break;
    }
    onRead(file);
    for (const setting of readGitSettings(contentOf(file) ?? '')) {
      const { section, key, value } = setting;
      settings.push(setting);
      // A repository can have its worktree in a different folder.
      if (section === 'core' && key === 'worktree') folders.add(resolve(git, value));
      const path = value.replace(/^~(?=\/|$)/, home);
      const isHooks = section === 'core' && key === 'hookspath';
      const isFile = (section === 'include' || section === 'includeif') && key === 'path';
      if (path === '' || !(isHooks || isFile)) continue;
      if (/^~|^%\(prefix\)/.test(path)) unclear.push(path);
      else if (isHooks) hookPaths.add(path);
      else for (const place of placesOf(dirname(file), path, links)) included.add(place);
    }
    for (const place of included) all.add(place);
  }
  const hooks = [...folders].flatMap((folder) =>
    [...hookPaths].flatMap((path) => [...placesOf(folder, path, links)]),
  );
  const programs =
    root === undefined ? new Set<string>() : programsOfSettings(settings, folders, root);
  return { hooks: new Set(hooks.map(withoutHelpers)), included, programs, links, unclear };
}

/** Returns a path by its text alone, and as the kernel follows it. Adds the links on the way. */
function placesOf(folder: string, path: string, links: Set<string>): ReadonlySet<string> {
  const followed = followLinks(folder, [path]);
  for (const link of followed.links) links.add(link);
  return new Set([resolve(folder, path), resolve(followed.real)]);
}

/** Returns the worktree of a git folder, and further worktrees that its settings name. */
export function worktreesOf(git: string, worktree: string): readonly string[] {
  const named = ['config', 'config.worktree'].flatMap((name) =>
    readGitSettings(contentOf(join(git, name)) ?? '')
      .filter(({ section, key }) => section === 'core' && key === 'worktree')
      .map(({ value }) => resolve(git, value)),
  );
  return [...new Set([worktree, ...named])];
}

/** Returns the files with the settings of the user and of the system. */
export function userConfigFiles(
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const home = homedir();
  const folder = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const named = [env['GIT_CONFIG_GLOBAL'], env['GIT_CONFIG_SYSTEM']].map((file) => file ?? '');
  const usual = [join(home, '.gitconfig'), join(folder, 'git/config'), '/etc/gitconfig'];
  return [...new Set([...usual, join(home, '.config/git/config'), ...named])].filter(isAbsolute);
}

/**
 * Husky creates hooks in `.husky/_`. They run the file with the same name in the parent folder, so the parent
 * folder is returned.
 */
function withoutHelpers(hooks: string): string {
  return basename(hooks) === '_' ? dirname(hooks) : hooks;
}

/** Maximum size of a file with settings, in bytes. */
const maxBytes = 1_048_576;

/**
 * Returns the content of a file. Returns undefined if the file does not exist, is too large or cannot be read. Throws
 * if a different program holds a lease on the file, because git would wait for its end and then read the settings.
 */
function contentOf(path: string): string | undefined {
  let file: number | undefined;
  try {
    // Git follows a link to a file, so this code also follows it.
    const entry = statSync(path, { throwIfNoEntry: false });
    if (!entry?.isFile() || entry.size > maxBytes) return undefined;
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const { size } = fstatSync(file);
    return size <= maxBytes ? readFileSync(file, 'utf8') : undefined;
  } catch (error) {
    if (errorCodeOf(error) === 'EAGAIN') throw leased(path, error);
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function leased(path: string, cause: unknown): SandboxError {
  const message = `Cannot read ${path}: another program has locked it with a lease. Close that program and try again`;
  return new SandboxError('cannot_confine', message, { path }, { cause });
}
