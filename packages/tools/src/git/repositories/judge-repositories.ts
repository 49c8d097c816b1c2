import { basename, dirname, join } from 'node:path';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';
import { begunNames, riskOfBegun } from '../git-folder/begun-work.ts';
import { entryRisks } from '../git-folder/unusual-entries.ts';
import { type EarlierState, earlierKey } from './earlier-keys.ts';
import { readGitContent } from './inner-git-folders.ts';
import type { Risk } from './removal/remove-risk.ts';
import {
  type FoundRepositories,
  type FoundRepository,
  maxRepositories,
  type RepositorySearch,
} from './repository-search.ts';
import { isSparseConfig, riskOfBare, riskOfGit, riskOfKnown } from './settings-risk.ts';
import { gitFolderOf } from './submodules.ts';

/** The facts about a command that the checks of repositories need. */
export interface JudgeOptions extends Partial<Pick<EarlierState, 'newRoot' | 'entries'>> {
  /** The real path of the workspace. */
  readonly root: string;
  /** True if the command has access to the network. */
  readonly network: boolean;
  /** The repositories that existed before the command. Commands cannot change their settings. */
  readonly known: readonly FoundRepository[];
  /** The paths that the sandbox really guards, so that no command can change them. */
  readonly guarded: readonly string[];
  /** The result of `harmlessRepositories` for the known repositories. */
  readonly harmless: Promise<ReadonlySet<string>>;
  readonly search: RepositorySearch;
  /** True if all new repositories outside of `node_modules` count as a risk. Default: those that run programs. */
  readonly refusesNew?: boolean | undefined;
}

/** The entries of a bare repository without which git runs no programs. */
const ofBare: readonly string[] = ['config', 'hooks', 'commondir', 'index', ...begunNames];

/** True if a repository existed before the command. */
export function isKnown(
  { root, known, newRoot }: Pick<JudgeOptions, 'root' | 'known' | 'newRoot'>,
  folder: string,
  kind: RepositoryKind,
): boolean {
  if (folder === root) return newRoot?.[kind] !== true;
  return known.some((one) => one.folder === folder && one[kind]);
}

/** The sentence about a new repository of a command that must not create one. */
const refused = {
  effect: 'only a command with change_git: true may create a repository',
  why: 'git can run programs of it. The user can rename it back',
} as const;

/** Returns the new repositories that make git run programs, or all new repositories. */
export async function risksOf(
  { found, odd }: Pick<FoundRepositories, 'found' | 'odd'>,
  options: JudgeOptions,
): Promise<readonly Risk[]> {
  // Before the command, there was none. The next search judges the repository at its new name.
  const why = 'the name of its folder is no text';
  const risks: Risk[] = odd.map(({ folder, name }) => ({ folder, names: [], odd: name, why }));
  // Before the command, there were fewer repositories. A new repository could have a submodule that the
  // search did not reach.
  const isTooMany = found.length > maxRepositories ? 'there are too many' : undefined;
  const { newRoot, refusesNew = false } = options;
  for (const { folder, isBare, hasGit } of newRoot === undefined ? found : [...found, newRoot]) {
    const isRefused = (kind: RepositoryKind) => refusesNew && !isKnown(options, folder, kind);
    if (isRefused('hasGit') && hasGit) risks.push({ folder, names: ['.git'], ...refused });
    else if (hasGit) {
      const git = join(folder, '.git');
      const why = isKnown(options, folder, 'hasGit')
        ? await riskOfChanged(folder, 'hasGit', options)
        : (isTooMany ?? (await judged(() => riskOfGit(git, options))));
      if (why !== undefined) risks.push({ folder, names: ['.git'], why });
      else if (!isKnown(options, folder, 'hasGit'))
        risks.push(...(await entriesOfNew(gitFolderOf(folder), options)));
    }
    if (isRefused('isBare') && isBare) risks.push({ folder, names: ['HEAD'], ...refused });
    else if (isBare) {
      const why = isKnown(options, folder, 'isBare')
        ? await riskOfChanged(folder, 'isBare', options)
        : (isTooMany ?? (await judged(() => riskOfBare(folder, options))));
      const names = why === isTooMany ? ['HEAD'] : ofBare;
      if (why !== undefined) risks.push({ folder, names, why });
      else if (!isKnown(options, folder, 'isBare'))
        risks.push(...(await entriesOfNew(folder, options)));
    }
  }
  return risks;
}

/** Returns the unusual entries of a new repository, and of the repositories in it. They do not harm the repository. */
async function entriesOfNew(
  git: string | undefined,
  { root, entries = new Set(), guarded }: JudgeOptions,
): Promise<readonly Risk[]> {
  if (git === undefined || !isBelow(root, git)) return [];
  const { inner } = await readGitContent(git);
  const risks = entryRisks([git, ...inner.map(({ folder }) => folder)], entries, guarded);
  // Git creates this file for `git clone --shared` and `git clone --reference`.
  return risks.filter(({ names }) => !names.includes('alternates'));
}

/**
 * Checks a known repository again. The guards of the sandbox should keep commands from changing it, and this check
 * does not depend on them. It cannot check a repository that already had settings which run programs.
 */
async function riskOfChanged(
  folder: string,
  kind: RepositoryKind,
  options: JudgeOptions,
): Promise<string | undefined> {
  const wasHarmless = (await options.harmless).has(repositoryKey(folder, kind));
  return wasHarmless ? judged(() => riskOfKnown(folder, kind, options)) : undefined;
}

/** Checks one repository. An error must not end the check of the other repositories, so it counts as a risk. */
async function judged(
  risk: () => Promise<string | undefined> | string | undefined,
): Promise<string | undefined> {
  try {
    return await risk();
  } catch {
    return 'it cannot be checked';
  }
}

export type RepositoryKind = 'isBare' | 'hasGit';

function repositoryKey(folder: string, kind: RepositoryKind): string {
  return earlierKey(kind, folder);
}

/** Returns a key for each kind of a repository. */
export function repositoryKeys({ folder, isBare, hasGit }: FoundRepository): readonly string[] {
  return [
    ...(isBare ? [repositoryKey(folder, 'isBare')] : []),
    ...(hasGit ? [repositoryKey(folder, 'hasGit')] : []),
  ];
}

/** Returns the keys of the known repositories that are harmless. Wait for the result before a command starts. */
export async function harmlessRepositories(
  options: Pick<JudgeOptions, 'root' | 'known' | 'guarded' | 'search'>,
): Promise<ReadonlySet<string>> {
  const harmless = new Set<string>();
  for (const { folder, isBare, hasGit } of options.known) {
    const kinds = [...(isBare ? ['isBare' as const] : []), ...(hasGit ? ['hasGit' as const] : [])];
    for (const kind of kinds)
      if ((await judged(() => riskOfKnown(folder, kind, options))) === undefined)
        harmless.add(repositoryKey(folder, kind));
  }
  return harmless;
}

/**
 * Returns the unfinished rebases and similar operations of a command that would be dangerous for the user to
 * continue. The command's own rebase runs in the sandbox, but the user's `--continue` does not. No command can
 * change an operation that the sandbox guards, because it existed before. Also returns the files that make git read
 * other settings, and that commands without a check may have created.
 */
export function risksOfBegun({ gitFolders, guarded, added }: EarlierState): readonly Risk[] {
  const risks: Risk[] = [];
  for (const path of added)
    if (entryOf(path) !== undefined && !isSparseConfig(path)) {
      const why = 'it makes git read other settings';
      risks.push({ folder: dirname(path), names: [basename(path)], why });
    }
  for (const folder of gitFolders)
    for (const name of begunNames) {
      const isGuarded = guarded.some((path) => isInside(path, join(folder, name)));
      const why = isGuarded ? undefined : riskOfBegun(folder, name);
      if (why !== undefined) risks.push({ folder, names: [name], why });
    }
  return risks;
}
