import { relative, sep } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { entriesLeft, recordWatch } from '../git-folder/unusual-entries.ts';
import { checkWhileRunning } from './check-while-running.ts';
import type { EarlierState } from './earlier-keys.ts';
import { changedIndexes, earlierState, gitProblem } from './earlier-state.ts';
import { gitFolderSearch, newInnerRisks, surveyInner } from './inner-git-folders.ts';
import { type JudgeOptions, risksOf, risksOfBegun } from './judge-repositories.ts';
import type { PackageCheck, PackageRepositories } from './package-repositories.ts';
import { packagesName } from './read-folder.ts';
import { removeAll, removeInGit, removeNew } from './removal/remove-new.ts';
import {
  cannotCheck,
  describeRemoved,
  problemOf,
  type Removed,
  type Risk,
} from './removal/remove-risk.ts';
import { renameNew } from './removal/rename-at-end.ts';
import type { FoundRepositories, RepositorySearch } from './repository-search.ts';

/** The result of a check of what earlier commands left. */
interface CheckedLeft {
  /** Sentences about what was renamed. */
  readonly renamed: readonly string[];
  readonly isComplete: boolean;
}

/** Watches a workspace for repositories that a command creates. */
export interface RepositoryWatch {
  /** This signal aborts when a new repository would make git run programs. */
  readonly blocked: AbortSignal;
  /**
   * Renames risky repositories and stops watching. Returns sentences for the model that describe the renamed
   * files.
   */
  finish(): Promise<readonly string[]>;
  /** Stops watching, because no command started. */
  stop(): void;
  /**
   * Resolves when all checks after the command have ended, also the check of the `node_modules` folders. It is false
   * if a check was not complete. The workspace can then contain repositories that nobody has checked.
   */
  readonly isComplete: Promise<boolean>;
  /**
   * Resolves when the command may start, with the result of the check of what earlier commands left. Rejects if the
   * command must not start. If something was renamed, the command needs a new plan, because its plan can contain it.
   */
  readonly ready: Promise<CheckedLeft>;
}

interface WatchOptions extends JudgeOptions {
  /** Searches the git folders. Default: a new search. */
  readonly inner?: RepositorySearch | undefined;
  /** The state before the command. Default: the current state. */
  readonly earlier?: EarlierState | undefined;
  /** Searches the `node_modules` folders. */
  readonly packages: PackageRepositories;
  /** True if the command may change repositories and create new ones. Otherwise, `refusesNew` is true by default. */
  readonly changesGit: boolean;
  /** True if the git folders of the known repositories may have changed. Default: `changesGit`. */
  readonly mayHaveChanged?: (() => boolean) | undefined;
  /** Time between two checks while the command runs. Default: 1 s. */
  readonly everyMs?: number | undefined;
}

/** The result of a command waits for the check of `node_modules` for this part of the command's duration. */
const packagesShare = 20;

/**
 * Watches for new repositories whose settings or hooks run programs. A command can create one in any folder
 * and make it a submodule. Then `git status` in the workspace runs these programs outside of the sandbox, and
 * many shells and editors call `git status` automatically. A repository without such settings is not changed.
 * The sandbox cannot prevent a command from creating `.git`, so this check finds it afterwards.
 *
 * The `node_modules` folders are checked last. `finish` waits for this check only 1/20 of the command's
 * duration. See `PackageRepositories`.
 */
export function watchRepositories(options: WatchOptions): RepositoryWatch {
  const { root, search, packages, changesGit, everyMs = 1000 } = options;
  const { mayHaveChanged = () => changesGit, refusesNew = !changesGit } = options;
  const controller = new AbortController();
  const startedAt = performance.now();
  let isOver = false;
  const inner = options.inner ?? gitFolderSearch();
  const earlier = options.earlier ?? earlierState({ ...options, inner });
  const { gitFolders, searched, guarded, seen } = earlier;
  const surveyGit = () => surveyInner(root, searched, inner);
  const surveyRoot = () => search.surveyInSlices(root, [root]);
  // Only the last check refuses harmless repositories.
  const judging = { ...options, entries: earlier.entries, refusesNew: false };
  const removed: Removed = { renamed: [], failed: [] };
  const remove = (risks: readonly Risk[]) => removeAll(options, risks, removed);
  const recordsAgain = recordWatch(earlier, remove);
  const innerRisks = async (now: FoundRepositories) =>
    newInnerRisks(now, await seen, guarded, searched);
  /** Searches the git folders. Returns true if there is a risk, and a problem if the search was not complete. */
  const findInGit = async () => {
    const git = await surveyGit();
    if ((await innerRisks(git)).length > 0) return true;
    const records = await recordsAgain();
    const begun = risksOfBegun(earlier);
    const changed = await changedIndexes(options, gitFolders, await seen);
    if (records.length + begun.length + changed.length > 0) return true;
    // If not all git folders could be searched before the command, it did not cause this problem.
    return (await seen).has(gitProblem) ? false : (git.problem ?? false);
  };
  const findAny = async () => {
    const inGit = mayHaveChanged() ? await findInGit() : false;
    if (inGit === true) return true;
    const all = await surveyRoot();
    const isRisky = (await risksOf(all, judging)).length > 0;
    if (isRisky || isOver) return isRisky;
    const inPackages = await packages.survey(root, all.packages);
    if ((await risksOf(inPackages, judging)).length > 0) return true;
    return inGit || (all.problem ?? inPackages.problem ?? false);
  };
  const checks = checkWhileRunning(findAny, everyMs, () => controller.abort());
  const renameNow = () => renameNew(options, earlier);
  open.add(renameNow);
  /** The `node_modules` folders that exist after the command. */
  let folders: readonly string[] = [];
  const complete = Promise.withResolvers<boolean>();
  let isComplete = true;
  const checkPackages = async (
    survey: (packages: readonly string[]) => Promise<FoundRepositories>,
  ): Promise<PackageCheck> => {
    // Known repositories stay known, even if the search cannot reach them now.
    const known = options.known.filter(({ folder }) => isInPackages(root, folder));
    try {
      const removed: Removed = { renamed: [], failed: [] };
      const { all, risks } = await removeNew(judging, removed, () => survey(folders));
      const notes = [...problemOf(all), ...describeRemoved(removed)];
      const others = new Set([...risks, ...known].map(({ folder }) => folder));
      const found = [...known, ...all.found.filter(({ folder }) => !others.has(folder))];
      isComplete &&= all.problem === undefined && removed.failed.length === 0;
      return { found, problem: all.problem, notes };
    } catch (error) {
      isComplete = false;
      return { found: known, notes: [cannotCheck(error)] };
    } finally {
      complete.resolve(isComplete);
    }
  };
  /** Renames all risks outside of `node_modules`. Returns sentences about what it could not check. */
  const checkAll = async () => {
    let problems: readonly string[] = [];
    const inGit = [
      async () => {
        const left = await removeInGit(options, removed, surveyGit, innerRisks);
        isComplete &&= left.problem === undefined;
        problems = problemOf(left);
      },
      async () => remove(await changedIndexes(options, gitFolders, await seen)),
      async () => remove([...risksOfBegun(earlier), ...entriesLeft(earlier)]),
    ];
    const checks = [
      ...(mayHaveChanged() ? inGit : []),
      async () => {
        const { all } = await removeNew({ ...judging, refusesNew }, removed, surveyRoot);
        folders = all.packages;
        isComplete &&= all.problem === undefined;
        problems = [...problemOf(all), ...problems];
      },
    ];
    const errors = await runAll(checks);
    isComplete &&= errors.length + removed.failed.length === 0;
    return { errors, problems };
  };
  /** A repository that an earlier check could not rename must not become a known repository. */
  const checkLeft = async (): Promise<CheckedLeft> => {
    const left = checkedLeft(root, removed, await checkAll());
    isComplete = true;
    return left;
  };
  return {
    blocked: controller.signal,
    isComplete: complete.promise,
    ready: seen.then(() => (earlier.isUnchecked ? checkLeft() : nothingLeft)),
    stop() {
      isOver = true;
      checks.stop();
      open.delete(renameNow);
    },
    async finish() {
      isOver = true;
      checks.stop();
      // The command has ended. Nothing that was read while it could write counts.
      for (const one of [search, inner]) one.forgetIndexes();
      const waitMs = (performance.now() - startedAt) / packagesShare;
      const notes = checks.notes();
      const { problems, errors } = await checkAll();
      notes.push(...errors, ...problems, ...describeRemoved(removed));
      open.delete(renameNow);
      try {
        return [...notes, ...(await packages.checkAfter(root, waitMs, checkPackages))];
      } catch (error) {
        complete.resolve(false);
        throw error;
      }
    },
  };
}

const nothingLeft: CheckedLeft = { renamed: [], isComplete: true };

/** Runs all checks, and returns sentences about their errors. An error in one check must not end the other checks. */
async function runAll(checks: readonly (() => Promise<void>)[]): Promise<readonly string[]> {
  const errors: string[] = [];
  for (const check of checks)
    await check().catch((error: unknown) => void errors.push(cannotCheck(error)));
  return errors;
}

function checkedLeft(
  root: string,
  removed: Removed,
  { errors, problems }: Readonly<Record<'errors' | 'problems', readonly string[]>>,
): CheckedLeft {
  const [failed] = removed.failed;
  if (failed !== undefined) throw new SandboxError('cannot_confine', failed, { path: root });
  return { renamed: describeRemoved(removed), isComplete: errors.length + problems.length === 0 };
}

/** For each running command, a function that renames the new repositories of its workspace. */
const open = new Set<() => readonly string[]>();

/**
 * Renames the repositories that running commands created, synchronously. Call it if this process ends at once, after
 * the commands were killed. It also renames harmless repositories, because there is no time to read their settings.
 * Returns sentences about the changes.
 */
export function renameNewRepositories(): readonly string[] {
  return [...open].flatMap((rename) => rename());
}

function isInPackages(root: string, folder: string): boolean {
  return relative(root, folder).split(sep).includes(packagesName);
}
